/* A button to copy each block of code, and a stop of the keyboard at each table that scrolls. */
document.addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll("div.highlight:has(pre)")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(block.querySelector("pre").textContent.trimEnd());
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    block.prepend(button);
  }
  const stops = () => document.querySelectorAll("div.body table").forEach((table) => {
    table.toggleAttribute("tabindex", false);
    if (table.scrollWidth > table.clientWidth) table.tabIndex = 0;
  });
  stops();
  addEventListener("resize", stops);
});
