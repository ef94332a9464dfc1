"use strict";

document.getElementById("again").addEventListener("click", () => window.location.reload());

// Keys go to the terminal from its first picture on, without a click.
new MutationObserver((changes, observer) => {
  const line = document.querySelector(".xterm-helper-textarea");
  if (line && document.body.classList.contains("-first-byte")) {
    line.focus();
    observer.disconnect();
  }
}).observe(document.body, { attributes: true, attributeFilter: ["class"] });
