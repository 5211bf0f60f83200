/**
 * Tables of rows: on a narrow screen each row becomes a block with the names of its columns beside the values, so that
 * nothing scrolls sideways. Roles are written out because browsers drop them where the display changes.
 */
import type { Child } from 'hono/jsx';

export interface Column<Row> {
  title: string;
  cell: (row: Row) => Child;
  /** Figures stand on the right. */
  figure?: boolean;
  /** What the row is about: its heading. */
  heading?: boolean;
}

export function Table<Row>({
  caption,
  columns,
  rows,
}: {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
}) {
  return (
    // biome-ignore lint/a11y/noRedundantRoles: the narrow layout takes the roles away
    <table role="table">
      <caption class="unseen">{caption}</caption>
      {/* biome-ignore lint/a11y/noRedundantRoles: the narrow layout takes the roles away */}
      <thead role="rowgroup">
        {/* biome-ignore lint/a11y/noRedundantRoles: the narrow layout takes the roles away */}
        <tr role="row">
          {columns.map(({ title, figure }) => (
            // biome-ignore lint/a11y/noRedundantRoles: the narrow layout takes the roles away
            <th role="columnheader" scope="col" class={figure ? 'figure' : undefined}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      {/* biome-ignore lint/a11y/noRedundantRoles: the narrow layout takes the roles away */}
      <tbody role="rowgroup">
        {rows.map((row) => (
          // biome-ignore lint/a11y/noRedundantRoles: the narrow layout takes the roles away
          <tr role="row">{columns.map((column) => cellOf(column, row))}</tr>
        ))}
      </tbody>
    </table>
  );
}

function cellOf<Row>({ title, cell, figure, heading }: Column<Row>, row: Row) {
  const style = figure ? 'figure' : undefined;
  return heading ? (
    // biome-ignore lint/a11y/noRedundantRoles: the narrow layout takes the roles away
    <th role="rowheader" scope="row" data-label={title} class={style}>
      {cell(row)}
    </th>
  ) : (
    // biome-ignore lint/a11y/noRedundantRoles: the narrow layout takes the roles away
    <td role="cell" data-label={title} class={style}>
      {cell(row)}
    </td>
  );
}

/** Where a list goes on. `query` is what the list was asked with. */
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
