/**
 * Draws a chart as an SVG file of panels: rows of bars with the spread of the rounds, or of dots.
 * It has its own background, and colours for light and dark mode.
 */

const WIDTH = 880;
const MARGIN = 24;
const GAP = 28;
const LABEL_WIDTH = 126;
const VALUE_WIDTH = 116;
const ROW = 22;
const BAR = 12;
const PANEL_HEAD = 30;
const PANEL_FOOT = 34;
const LEGEND_Y = 83;
const LEGEND_LINE = 18;

/**
 * @param {object} chart
 * @param {string} chart.title
 * @param {string} chart.subtitle
 * @param {string} chart.unit - unit of every axis
 * @param {readonly { colour: string, text: string }[]} chart.legend - meaning of the colours
 * @param {readonly any[]} chart.panels - each with a `title`, a `scale`, and `rows` of `label`,
 *   `colour`, `text`, and either `bar: { value, min, max }` or `dots: [{ value, shade }]`
 * @param {number} [chart.columns]
 */
export function chartSvg({ title, subtitle, unit, legend, panels, columns = 2 }) {
  const panelWidth = (WIDTH - 2 * MARGIN - (columns - 1) * GAP) / columns;
  const panelHeight =
    PANEL_HEAD + PANEL_FOOT + Math.max(...panels.map(({ rows }) => rows.length)) * ROW;
  const key = drawLegend(legend);
  const top = 104 + key.extraHeight;
  const height = top + Math.ceil(panels.length / columns) * panelHeight + 4;
  const drawn = panels.map((panel, i) => {
    const x = MARGIN + (i % columns) * (panelWidth + GAP);
    const y = top + Math.floor(i / columns) * panelHeight;
    return `<g transform="translate(${x} ${y})">${drawPanel(panel, { unit, panelWidth })}</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escape(title)}">`,
    STYLE,
    `<rect class="card" x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="10"/>`,
    text({ x: MARGIN, y: 36, kind: 'title', content: title }),
    text({ x: MARGIN, y: 57, kind: 'quiet', content: subtitle }),
    key.drawn,
    ...drawn,
    '</svg>\n',
  ].join('\n');
}

/** @returns the SVG elements, and the height that lines after the first need. */
function drawLegend(entries) {
  let x = MARGIN;
  let y = LEGEND_Y;
  const drawn = entries.map(({ colour, text: content }) => {
    const width = 38 + content.length * 6.5;
    if (x + width > WIDTH) {
      x = MARGIN;
      y += LEGEND_LINE;
    }
    const mark = `<rect x="${x}" y="${y - 10}" width="11" height="11" rx="3" fill="${colour}"/>`;
    const label = text({ x: x + 17, y, kind: 'small', content });
    x += width;
    return mark + label;
  });
  return { drawn: drawn.join(''), extraHeight: y - LEGEND_Y };
}

function drawPanel({ title, scale, rows, tickText = String }, { unit, panelWidth }) {
  const plot = { x: LABEL_WIDTH, width: panelWidth - LABEL_WIDTH - VALUE_WIDTH };
  const bottom = PANEL_HEAD + rows.length * ROW;
  const at = (value) => plot.x + scale.place(value) * plot.width;
  const grid = scale.ticks.map((tick, i) => {
    const x = at(tick).toFixed(1);
    const content = i === scale.ticks.length - 1 ? `${tickText(tick)} ${unit}` : tickText(tick);
    return (
      `<line class="grid" x1="${x}" x2="${x}" y1="${PANEL_HEAD - 4}" y2="${bottom + 2}"/>` +
      text({ x, y: bottom + 16, kind: 'tick', content })
    );
  });
  const drawnRows = rows.map((row, i) => drawRow(row, { y: PANEL_HEAD + i * ROW, at, panelWidth }));
  return [text({ x: 0, y: 14, kind: 'head', content: title }), ...grid, ...drawnRows].join('');
}

function drawRow({ label, colour, bar, dots, text: content }, { y, at, panelWidth }) {
  const middle = y + ROW / 2;
  return [
    text({ x: LABEL_WIDTH - 8, y: middle + 4, kind: 'label', content: label }),
    bar === undefined
      ? drawDots(dots, { colour, middle, at })
      : drawBar(bar, { colour, middle, at }),
    text({ x: panelWidth - VALUE_WIDTH + 8, y: middle + 4, kind: 'value', content }),
  ].join('');
}

function drawBar({ value, min, max }, { colour, middle, at }) {
  const width = Math.max(1, at(value) - at(0)).toFixed(1);
  const top = middle - BAR / 2;
  return (
    `<rect x="${at(0).toFixed(1)}" y="${top}" width="${width}" height="${BAR}" rx="2" fill="${colour}"/>` +
    `<line class="spread" x1="${at(min).toFixed(1)}" x2="${at(max).toFixed(1)}" y1="${middle}" y2="${middle}"/>`
  );
}

function drawDots(dots, { colour, middle, at }) {
  const places = dots.map(({ value }) => at(value));
  const line = `<line x1="${Math.min(...places).toFixed(1)}" x2="${Math.max(...places).toFixed(1)}" y1="${middle}" y2="${middle}" stroke="${colour}" stroke-width="2" opacity="0.5"/>`;
  const marks = dots.map(
    ({ shade }, i) =>
      `<circle cx="${places[i].toFixed(1)}" cy="${middle}" r="${shade}" fill="${colour}"/>`,
  );
  return line + marks.join('');
}

function text({ x, y, kind, content }) {
  return `<text class="${kind}" x="${x}" y="${y}">${escape(content)}</text>`;
}

function escape(content) {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

const STYLE = `<style>
text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; font-size: 12px; fill: #24292f; }
.title { font-size: 18px; font-weight: 600; }
.head { font-size: 13px; font-weight: 600; }
.quiet { fill: #57606a; }
.small { font-size: 11.5px; fill: #57606a; }
.tick { font-size: 10.5px; fill: #6e7781; text-anchor: middle; }
.label { text-anchor: end; font-size: 11.5px; }
.value { font-size: 11.5px; font-variant-numeric: tabular-nums; }
.card { fill: #ffffff; stroke: #d0d7de; }
.grid { stroke: #d8dee4; stroke-width: 1; }
.spread { stroke: #24292f; stroke-width: 1.5; opacity: 0.55; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; }
.quiet, .small { fill: #9da7b3; }
.tick { fill: #8b949e; }
.card { fill: #0d1117; stroke: #30363d; }
.grid { stroke: #21262d; }
.spread { stroke: #e6edf3; }
}
</style>`;
