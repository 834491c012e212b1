// Shows the buttons that copy a field. Without this script, and without a clipboard, the field is there to select.
for (const button of navigator.clipboard ? document.querySelectorAll("button[data-copies]") : []) {
  const field = document.getElementById(button.dataset.copies);
  button.hidden = false;
  button.addEventListener("click", async () => {
    field.select();
    await navigator.clipboard.writeText(field.value);
    button.textContent = button.dataset.done;
  });
}
