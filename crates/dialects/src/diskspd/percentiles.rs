//! Lists the percentiles that diskspd prints.

/// Their names and shares of all requests; minimum and maximum are printed around them.
pub(super) const PERCENTILES: [(&str, f64); 13] = [
    ("25th", 0.25),
    ("50th", 0.5),
    ("75th", 0.75),
    ("90th", 0.9),
    ("95th", 0.95),
    ("99th", 0.99),
    ("3-nines", 0.999),
    ("4-nines", 0.999_9),
    ("5-nines", 0.999_99),
    ("6-nines", 0.999_999),
    ("7-nines", 0.999_999_9),
    ("8-nines", 0.999_999_99),
    ("9-nines", 0.999_999_999),
];
