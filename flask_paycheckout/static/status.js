// Asks how the order stands and shows the page anew when that changed. Without this script the page reloads itself.
(() => {
  const order = document.getElementById("paycheckout-order");
  if (!order) return;
  let timer;
  const later = (seconds) => {
    clearTimeout(timer);
    if (seconds > 0) timer = setTimeout(ask, seconds * 1000);
  };
  const ask = async () => {
    try {
      const answer = await fetch(order.dataset.statusUrl, { cache: "no-store" });
      if (!answer.ok) return later(30);
      const standing = await answer.json();
      if (standing.status !== order.dataset.status) return location.reload();
      later(standing.pollAfter);
    } catch {
      later(15);
    }
  };
  // Coming back by the back button, or to this tab, is the moment when a customer wants to know.
  addEventListener("pageshow", (event) => event.persisted && ask());
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && ask());
  later(Number(order.dataset.pollAfter));
})();
