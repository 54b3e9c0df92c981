// Draws every figure in the colours of the theme, and again when the theme changes or for paper.
"use strict";
(() => {
  const figures = [...document.querySelectorAll(".figure")].map((node) => ({
    node, spec: JSON.parse(node.querySelector("script").textContent),
  }));
  const style = () => getComputedStyle(document.documentElement);

  // `var(--c1)` is the theme's colour, `var(--c1)/0.15` the same, see-through.
  function resolved(value, own) {
    if (Array.isArray(value)) return value.map((item) => resolved(item, own));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resolved(item, own)]));
    }
    const found = typeof value === "string" && value.match(/^var\((--\w+)\)(?:\/([\d.]+))?$/);
    if (!found) return value;
    const colour = own.getPropertyValue(found[1]).trim();
    return found[2] ? seeThrough(colour, found[2]) : colour;
  }

  function seeThrough(colour, opacity) {
    const parts = colour.slice(1).match(/../g).map((part) => parseInt(part, 16));
    return `rgba(${parts.join(",")},${opacity})`;
  }

  function axis(own, given) {
    const line = own.getPropertyValue("--grid").trim();
    return { gridcolor: line, zerolinecolor: line, linecolor: line, automargin: true, ...given };
  }

  function layout(spec, own, narrow) {
    const ink = own.getPropertyValue("--ink").trim();
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", height: narrow ? 300 : 330,
      font: { family: "system-ui, -apple-system, Segoe UI, sans-serif", size: narrow ? 12 : 14, color: ink },
      margin: { l: narrow ? 44 : 60, r: 12, t: 10, b: 44 }, hovermode: "x",
      hoverlabel: { bgcolor: own.getPropertyValue("--card").trim(), font: { color: ink } },
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", traceorder: "normal", font: { color: ink } },
      ...spec.layout, xaxis: axis(own, spec.layout.xaxis), yaxis: axis(own, spec.layout.yaxis),
    };
  }

  function draw() {
    const own = style(), narrow = window.innerWidth < 600;
    for (const { node, spec } of figures) {
      const copy = JSON.parse(JSON.stringify(spec));
      Plotly.react(node, resolved(copy.data, own), layout(copy, own, narrow), {
        displayModeBar: false, responsive: true, displaylogo: false,
      });
    }
  }

  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  matchMedia("print").addEventListener("change", draw);
})();
