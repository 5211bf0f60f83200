/**
 * Forced colours, such as the high contrast of Windows. The browser paints texts and borders in the reader's colours
 * and drops backgrounds and shadows. Parts that only a background or a fill makes visible get a border or a system
 * colour here. These styles stand last, because they replace those of the parts.
 */
export const FORCED_COLOR_STYLES = `
@media (forced-colors: active) {
  .badge, .method, .notice, code, .json, .secret, .palette, .values, #tip { border: 1px solid CanvasText; }
  button:disabled, button[aria-disabled="true"] { border-color: GrayText; color: GrayText; opacity: 1; }
  .button.primary, button.primary { border: 2px solid ButtonText; }
  :focus-visible { outline-color: Highlight; }
  .side li a[aria-current], .tabs a[aria-current], [role="option"][aria-selected="true"] { forced-color-adjust: none; background: Highlight; color: HighlightText; }
  [role="option"][aria-selected="true"] .quiet { color: HighlightText; }
  .switcher > summary::after { border-color: CanvasText; }
  .bar, .spark, .bars, .chart-body svg { forced-color-adjust: none; }
  .bar { border: 1px solid CanvasText; height: 8px; }
  .bar-back { fill: Canvas; }
  .bar-front, .spark rect { fill: Highlight; }
  .bar.warn .bar-front, .bar.bad .bar-front { fill: CanvasText; }
  .unlimited { forced-color-adjust: none; background: repeating-linear-gradient(90deg, CanvasText 0 6px, Canvas 6px 10px); }
  .s0 { --ink: CanvasText; } .s1 { --ink: Highlight; } .s2 { --ink: LinkText; } .s3 { --ink: GrayText; }
  .bars rect { stroke: Canvas; stroke-width: 1; vector-effect: non-scaling-stroke; }
  .bars rect.open { stroke: CanvasText; }
  .bars rect.below { fill: Highlight; }
  .previous { stroke: CanvasText; stroke-opacity: 1; }
  line.rule { stroke: GrayText; }
  .key::before { forced-color-adjust: none; border: 1px solid CanvasText; }
  .marks :is(a, li > span):is(:hover, :focus-visible) { outline: 2px solid Highlight; }
  .timeline li::before { border: 2px solid CanvasText; }
  progress { border: 1px solid CanvasText; }
  progress::-webkit-progress-value { forced-color-adjust: none; background: Highlight; }
  .diff ins { text-decoration: underline double; }
  tr.changed > :first-child { border-left: 3px solid Highlight; padding-left: 6px; }
}
`;
