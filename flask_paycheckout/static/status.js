// Asks how the order stands while somebody looks, and shows what is new. Without this script the page reloads itself.
(() => {
  const away = document.getElementById("paycheckout-away");
  if (away) {
    // The page stays as it is, so that no screen reader tells it again, until there is another one.
    const wait = 1000 * Number(away.dataset.retryAfter);
    const again = () => fetch(location.href, { cache: "no-store" }).then((answer) => answer.ok ? location.reload() : setTimeout(again, wait), () => setTimeout(again, wait));
    setTimeout(again, wait);
  }
  // Here scripts run: to a script the words for browsers without them look like words of the page.
  const found = (page) => {
    for (const each of page.querySelectorAll("noscript")) each.remove();
    for (const each of page.querySelectorAll("[data-print]")) each.hidden = false;
    return page.getElementById("paycheckout-order");
  };
  const order = found(document);
  if (!order) return;
  const parts = [".paycheckout-state", ".paycheckout-status", ".paycheckout-facts", ".paycheckout-actions"];
  order.addEventListener("click", (event) => event.target.closest("[data-print]") && print());
  const offline = document.querySelector(".paycheckout-offline");
  const connected = (is) => { if (offline) offline.textContent = is ? "" : offline.dataset.words; };
  let timer, asked;
  const later = (seconds) => {
    clearTimeout(timer);
    if (seconds > 0 && document.visibilityState === "visible") timer = setTimeout(ask, seconds * 1000);
  };
  // Not `reload`, by which a page that answered a form would send the form again.
  const anew = () => location.replace(location.href);
  const show = async (signal) => {
    const answer = await fetch(location.href, { cache: "no-store", signal });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = found(page);
    if (!answer.ok || !parts.every((part) => order.querySelector(part) && fresh?.querySelector(part))) return anew();
    // Where a form may lead is said by the headers of its page.
    if (fresh.querySelector("form") && !order.querySelector("form")) return anew();
    const focused = order.contains(document.activeElement);
    document.title = page.title;
    order.className = fresh.className;
    order.dataset.status = fresh.dataset.status;
    // The elements stay and their content changes: that is what a screen reader tells. What says the same stays too.
    for (const part of parts) {
      const [old, now] = [order, fresh].map((from) => from.querySelector(part));
      if (old.textContent !== now.textContent) old.replaceChildren(...now.childNodes);
    }
    if (focused && !order.contains(document.activeElement)) {
      // The button that had the focus is gone; the keyboard goes on from here, not from the top of the page.
      order.tabIndex = -1;
      order.focus();
    }
  };
  // The status alone does not tell of a further part, of another total, or of a payment page that is over.
  const ask = async (isBack) => {
    clearTimeout(timer);
    asked?.abort();
    const { signal } = (asked = new AbortController());
    try {
      const answer = await fetch(order.dataset.statusUrl, { cache: "no-store", signal });
      connected(true);
      if (!answer.ok) return later(5);
      const standing = await answer.json();
      if (isBack || standing.status !== order.dataset.status) await show(signal);
      later(standing.pollAfter);
    } catch {
      if (signal.aborted) return;
      connected(false);
      later(5);
    }
  };
  // Coming back by the back button, to this tab, or to the network, is the moment when a customer wants to know.
  addEventListener("pageshow", (event) => event.persisted && ask(true));
  addEventListener("online", ask);
  addEventListener("offline", () => connected(false));
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && ask(true));
  later(Number(order.dataset.pollAfter));
})();
