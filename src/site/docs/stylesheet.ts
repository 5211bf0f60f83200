/**
 * Styles of the API reference beyond those of all public pages: the list beside a page, samples, the form, documents.
 */
export const DOCS_STYLESHEET = `
.top > div { max-width: 1320px; }
.with-side { max-width: 1320px; margin: 0 auto; display: grid; grid-template-columns: 268px minmax(0, 1fr); }
.with-side .public { margin: 0; padding: 28px 32px 64px; width: 100%; max-width: 960px; align-content: start; }
.docs-side { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto; padding: 24px 12px 32px 24px; border-right: 1px solid var(--line); display: grid; gap: 14px; align-content: start; }
.docs-side .find { gap: 8px; }
.docs-side .find .field { flex: 1 1 120px; }
.docs-side nav { display: grid; gap: 8px; }
.docs-side ul { list-style: none; padding: 0; display: grid; gap: 1px; }
.docs-side li a { display: flex; gap: 8px; justify-content: space-between; align-items: baseline; padding: 5px 8px; border-radius: 6px; color: var(--text); text-decoration: none; }
.docs-side li a:hover { background: var(--raised); }
.docs-side li a[aria-current] { background: var(--accent-soft); color: var(--accent); font-weight: 600; }
.docs-side .method { font-size: 10px; padding: 0 5px; }
.docs-side nav summary { cursor: pointer; padding: 5px 8px; border-radius: 6px; font-weight: 560; }
.docs-side nav summary:hover { background: var(--raised); }
.docs-side nav details ul { padding: 2px 0 4px 10px; }
.docs-list > summary { cursor: pointer; font-weight: 560; padding: 6px 12px; border: 1px solid var(--line); border-radius: 7px; }
@media (min-width: 861px) {
  @supports selector(::details-content) {
    .docs-list > summary { display: none; }
    .docs-list::details-content { content-visibility: visible; display: block; }
  }
}
@media (max-width: 860px) {
  .with-side { grid-template-columns: minmax(0, 1fr); }
  .docs-side { position: static; max-height: none; border-right: 0; border-bottom: 1px solid var(--line); padding: 16px; }
  .docs-list[open] > nav { padding-top: 8px; }
  .with-side .public { padding: 20px 16px 48px; }
}
pre.code { background: var(--raised); border-radius: 8px; padding: 14px 16px; margin: 0; overflow-x: auto; white-space: pre; line-height: 1.6; overflow-wrap: normal; tab-size: 2; max-height: 560px; }
pre.code code { background: none; padding: 0; }
.copied pre.code { white-space: pre-wrap; overflow-wrap: anywhere; padding-right: 92px; }
.copied, .copy-frame { position: relative; min-width: 0; }
.copy { position: absolute; top: 8px; right: 8px; min-height: 28px; padding: 2px 10px; font-size: 12px; }
.samples { display: grid; gap: 12px; grid-template-columns: minmax(0, 1fr); }
.sample { display: grid; gap: 6px; grid-template-columns: minmax(0, 1fr); }
.sample[hidden] { display: none; }
.samples [role="tablist"] { display: flex; gap: 2px; background: var(--raised); border-radius: 8px; padding: 3px; width: fit-content; }
.samples [role="tab"] { border: 0; background: none; min-height: 30px; padding: 3px 14px; color: var(--quiet); }
.samples [role="tab"][aria-selected="true"] { background: var(--surface); color: var(--text); box-shadow: 0 1px 2px rgb(0 0 0 / 0.12); }
.code-name { font-family: var(--mono); font-size: 12px; margin-right: 6px; }
.names { list-style: none; padding: 0; display: grid; gap: 4px 18px; grid-template-columns: repeat(auto-fill, minmax(min(220px, 100%), 1fr)); }
.try textarea { white-space: pre; overflow-x: auto; }
.try[hidden] { display: none; }
.tried { display: grid; gap: 10px; grid-template-columns: minmax(0, 1fr); }
.tried:empty { display: none; }
.guide { display: grid; gap: 14px; grid-template-columns: minmax(0, 1fr); line-height: 1.6; }
.guide > p, .guide > ul, .guide > ol { max-width: 78ch; }
.guide ul, .guide ol { padding-left: 22px; display: grid; gap: 4px; }
.guide .names { padding: 6px 0 0; }
.guide h1 { font-size: 26px; }
.guide h2 { font-size: 19px; padding-top: 14px; }
.guide h3 { font-size: 15.5px; padding-top: 6px; }
.guide img { max-width: 100%; height: auto; border-radius: 8px; }
.guide .anchor { color: inherit; text-decoration: none; }
.guide .anchor:hover { text-decoration: underline; }
.guide :target, .codes :target { scroll-margin-top: 12px; }
.scroll { overflow-x: auto; }
.scroll td { min-width: 110px; }
.codes { display: grid; gap: 18px; grid-template-columns: minmax(0, 1fr); }
.codes section { border-top: 1px solid var(--line); padding-top: 14px; display: grid; gap: 6px; grid-template-columns: minmax(0, 1fr); }
.codes section:target { background: var(--accent-soft); border-radius: 8px; padding: 14px; }
.codes h3 { padding: 0; }
.codes .badge { white-space: normal; border-radius: 8px; }
.codes h3 code { font-size: 14px; }
.codes summary { cursor: pointer; color: var(--quiet); width: fit-content; }
`;
