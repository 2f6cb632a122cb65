// Searches SECTIONS, a list of [page, anchor, title, text], as one types: every word has to occur, and in the
// title it counts more.
const box = document.getElementById("search"), list = document.getElementById("found");

function score(section, words) {
  const [, , title, text] = section, head = title.toLowerCase(), body = text.toLowerCase();
  let sum = 0;
  for (const word of words) {
    const place = body.indexOf(word);
    if (head.includes(word)) sum += 10;
    else if (place >= 0) sum += 1 + 1 / (1 + place);
    else return 0;
  }
  return sum;
}

function excerpt(text, word) {
  const place = Math.max(0, text.toLowerCase().indexOf(word) - 30);
  return (place ? "…" : "") + text.slice(place, place + 90) + "…";
}

box.addEventListener("input", () => {
  const words = box.value.toLowerCase().split(/\s+/).filter((word) => word.length > 1);
  const scored = words.length ? SECTIONS.map((section) => [score(section, words), section]) : [];
  const best = scored.filter(([points]) => points > 0).sort((a, b) => b[0] - a[0]).slice(0, 12);
  list.replaceChildren(...best.map(([, [page, anchor, title, text]]) => {
    const item = document.createElement("li"), link = document.createElement("a"), more = document.createElement("small");
    link.href = anchor ? `${page}#${anchor}` : page;
    link.textContent = title;
    more.textContent = excerpt(text, words[0]);
    item.append(link, more);
    return item;
  }));
});
