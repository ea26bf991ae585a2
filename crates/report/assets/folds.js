// Opens the folded sections: a link or an address opens its section, a button opens all, and printing opens those for
// which ten pages have room.

'use strict';

(() => {
  const folds = [...document.querySelectorAll('details.fold')];
  const all = document.querySelector('.contents .all');

  function reveal(id) {
    const place = id && document.getElementById(id);
    if (!place) return;
    let shut = false;
    for (let at = place.closest('details'); at; at = at.parentElement.closest('details')) {
      shut = shut || !at.open;
      at.open = true;
    }
    // A closed section has no layout, so its target can be scrolled to only after it opens.
    if (shut) requestAnimationFrame(() => place.scrollIntoView());
  }
  const ofAddress = () => reveal(decodeURIComponent(location.hash.slice(1)));
  addEventListener('hashchange', ofAddress);
  // A second click on the same link does not change the address.
  document.addEventListener('click', (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link) reveal(decodeURIComponent(link.hash.slice(1)));
  });
  ofAddress();

  function say() {
    if (!all) return;
    const open = folds.every((fold) => fold.open);
    all.setAttribute('aria-pressed', String(open));
    all.textContent = open ? 'Close all' : 'Open all';
  }
  all?.addEventListener('click', () => {
    const open = !folds.every((fold) => fold.open);
    folds.forEach((fold) => { fold.open = open; });
    say();
  });
  for (const fold of folds) fold.addEventListener('toggle', say);

  // The table of contents marks the reader's position.
  const links = new Map([...document.querySelectorAll('.contents a')].map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const link = links.get(target.querySelector('.inside')?.id ?? target.id);
      if (isIntersecting) link?.setAttribute('aria-current', 'true');
      else link?.removeAttribute('aria-current');
    }
  }, { rootMargin: '-20% 0px -70% 0px' });
  for (const fold of folds) seen.observe(fold);

  let before = null;
  addEventListener('beforeprint', () => {
    before = folds.map((fold) => fold.open);
    folds.forEach((fold) => { fold.open = fold.classList.contains('printed'); });
  });
  addEventListener('afterprint', () => {
    before?.forEach((open, i) => { folds[i].open = open; });
    before = null;
  });
})();
