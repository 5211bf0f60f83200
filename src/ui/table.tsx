/**
 * Tables. On a narrow screen each row becomes a block with the column names beside the values, so that nothing scrolls
 * horizontally. Roles are explicit, because browsers drop them where CSS changes the display.
 */
import type { Child } from 'hono/jsx';

export interface Column<Row> {
  title: string;
  cell: (row: Row) => Child;
  /** Figures are aligned to the right. */
  figure?: boolean;
  /** The heading of the row. */
  heading?: boolean;
}

export function Table<Row>({
  caption,
  columns,
  rows,
  dense = false,
}: {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  /** Low rows, for long lists. */
  dense?: boolean;
}) {
  return (
    // biome-ignore lint/a11y/noRedundantRoles: the narrow layout removes the implicit roles
    <table role="table" class={dense ? 'dense' : undefined}>
      <caption class="unseen">{caption}</caption>
      {/* biome-ignore lint/a11y/noRedundantRoles: the narrow layout removes the implicit roles */}
      <thead role="rowgroup">
        {/* biome-ignore lint/a11y/noRedundantRoles: the narrow layout removes the implicit roles */}
        <tr role="row">
          {columns.map(({ title, figure }) => (
            // biome-ignore lint/a11y/noRedundantRoles: the narrow layout removes the implicit roles
            <th role="columnheader" scope="col" class={figure ? 'figure' : undefined}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      {/* biome-ignore lint/a11y/noRedundantRoles: the narrow layout removes the implicit roles */}
      <tbody role="rowgroup">
        {rows.map((row) => (
          // biome-ignore lint/a11y/noRedundantRoles: the narrow layout removes the implicit roles
          <tr role="row">{columns.map((column) => cellOf(column, row))}</tr>
        ))}
      </tbody>
    </table>
  );
}

function cellOf<Row>({ title, cell, figure, heading }: Column<Row>, row: Row) {
  const style = figure ? 'figure' : undefined;
  return heading ? (
    // biome-ignore lint/a11y/noRedundantRoles: the narrow layout removes the implicit roles
    <th role="rowheader" scope="row" data-label={title} class={style}>
      {cell(row)}
    </th>
  ) : (
    // biome-ignore lint/a11y/noRedundantRoles: the narrow layout removes the implicit roles
    <td role="cell" data-label={title} class={style}>
      {cell(row)}
    </td>
  );
}

/** The link to the next page of a list. `query` is the query of the current page. */
export function Pager({
  path,
  query,
  next,
  first,
}: {
  path: string;
  query: Record<string, string>;
  next: string | null;
  first: boolean;
}) {
  if (next === null && first) return null;
  const start = new URLSearchParams(query).toString();
  return (
    <nav class="pager" aria-label="Pages">
      {!first && <a href={start ? `${path}?${start}` : path}>First page</a>}
      {next !== null && (
        <a rel="next" href={`${path}?${new URLSearchParams({ ...query, cursor: next })}`}>
          Next page
        </a>
      )}
    </nav>
  );
}
