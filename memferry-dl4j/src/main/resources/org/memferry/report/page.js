"use strict";
(() => {
  const rows = Array.from(document.querySelectorAll("#gantt .row"), row => Array.from(row.querySelectorAll(".bar"))).filter(row => row.length > 0);
  const detail = document.getElementById("detail");
  const gantt = document.getElementById("gantt");
  let zoom = 1;

  const middle = bar => bar.x.baseVal.value + bar.width.baseVal.value / 2;
  const nearest = (row, at) => row.reduce((best, bar) => Math.abs(middle(bar) - at) < Math.abs(middle(best) - at) ? bar : best, row[0]);

  const choose = bar => {
    document.querySelectorAll("#gantt .bar[tabindex='0']").forEach(other => other.setAttribute("tabindex", "-1"));
    bar.setAttribute("tabindex", "0");
    bar.focus();
  };

  const widen = factor => {
    zoom = Math.min(64, Math.max(1, zoom * factor));
    gantt.style.setProperty("--zoom", zoom);
  };

  if (rows.length > 0) {
    rows[0][0].setAttribute("tabindex", "0");
  }
  gantt.addEventListener("focusin", event => {
    if (event.target.classList.contains("bar")) {
      detail.textContent = event.target.getAttribute("aria-label");
    }
  });
  gantt.addEventListener("click", event => {
    if (event.target.classList.contains("bar")) {
      choose(event.target);
    }
  });
  gantt.addEventListener("keydown", event => {
    const y = rows.findIndex(row => row.includes(event.target));
    if (y < 0) {
      return;
    }
    const row = rows[y];
    const x = row.indexOf(event.target);
    const moves = {
      ArrowRight: () => row[Math.min(row.length - 1, x + 1)],
      ArrowLeft: () => row[Math.max(0, x - 1)],
      ArrowDown: () => nearest(rows[Math.min(rows.length - 1, y + 1)], middle(event.target)),
      ArrowUp: () => nearest(rows[Math.max(0, y - 1)], middle(event.target)),
      Home: () => row[0],
      End: () => row[row.length - 1],
    };
    if (moves[event.key]) {
      event.preventDefault();
      choose(moves[event.key]());
    }
  });
  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    if (event.key === "+") {
      widen(2);
    } else if (event.key === "-") {
      widen(0.5);
    }
  });
  document.getElementById("wider").addEventListener("click", () => widen(2));
  document.getElementById("narrower").addEventListener("click", () => widen(0.5));
})();
