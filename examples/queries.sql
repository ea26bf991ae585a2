-- Three questions to a study, in SQL that SQLite and DuckDB both read. `record` is the study file's own table, or a
-- view over the CSV: a row a run, with the columns of docs/study-file.md. Runs of other experiments than the walks of block
-- size and depth have settings that these columns do not tell, such as flushes, and stay out.

-- Where does each path reach half of its peak? One row for each path and depth. A cell that was chosen by its plain
-- runs and measured again has the value of its confirming runs. Some cells were measured with more threads, too.
WITH walk AS (
    SELECT pattern, cache, direction, iodepth, bs_bytes, threads, pass, errors, mbps
    FROM record
    WHERE coalesce(experiment, 'random') IN ('sequential', 'random')
), cell AS (
    SELECT pattern, cache, direction, iodepth, bs_bytes,
           coalesce(avg(CASE WHEN pass = 'confirm' THEN mbps END), avg(mbps)) AS mbps
    FROM walk
    WHERE pass IN ('plain', 'confirm') AND errors = 0 AND threads = (SELECT min(threads) FROM walk)
    GROUP BY pattern, cache, direction, iodepth, bs_bytes
), curve AS (
    SELECT pattern, cache, direction, iodepth, max(mbps) AS peak_mbps
    FROM cell
    GROUP BY pattern, cache, direction, iodepth
)
SELECT cell.pattern, cell.cache, cell.direction, cell.iodepth,
       round(max(peak_mbps), 1) AS peak_mbps,
       min(CASE WHEN mbps * 2 >= peak_mbps THEN bs_bytes END) AS half_power_bs_bytes
FROM cell
JOIN curve ON curve.pattern = cell.pattern AND curve.cache = cell.cache
          AND curve.direction = cell.direction AND curve.iodepth = cell.iodepth
GROUP BY cell.pattern, cell.cache, cell.direction, cell.iodepth
ORDER BY cell.pattern, cell.cache, cell.direction, cell.iodepth;

-- What does depth buy at 4 KiB, and what does it cost in latency? One row a depth, and a number of threads.
SELECT direction, threads, iodepth, count(*) AS runs, round(avg(iops), 0) AS iops,
       round(avg(latency_ns_p50) / 1000.0, 1) AS p50_us, round(max(latency_ns_p99) / 1000.0, 1) AS worst_p99_us
FROM record
WHERE pattern = 'random' AND cache = 'device' AND bs_bytes = 4096 AND pass = 'plain'
  AND coalesce(experiment, 'random') IN ('sequential', 'random')
GROUP BY direction, threads, iodepth
ORDER BY direction, threads, iodepth;

-- What does a request cost the processor, from below (charged) and from above (the soaker)? One row a block size.
SELECT pattern, cache, direction, bs_bytes,
       round(sum(CASE WHEN pass = 'plain' THEN user_ns + system_ns END) / 1000.0
           / sum(CASE WHEN pass = 'plain' THEN submitted END), 2) AS charged_us,
       round(sum(soaker_lost_ns) / 1000.0
           / sum(CASE WHEN pass = 'soaker' THEN submitted END), 2) AS soaker_us
FROM record
WHERE direction IS NOT NULL AND coalesce(experiment, 'random') IN ('sequential', 'random')
GROUP BY pattern, cache, direction, bs_bytes
HAVING sum(CASE WHEN pass = 'plain' THEN submitted END) > 0
ORDER BY pattern, cache, direction, bs_bytes;
