/**
 * Publishing a catalog: the document, then its differences from the current catalog, then the confirmation.
 */
import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import { diffCatalogs } from '../../catalog/diff.ts';
import { type Problem, readCatalogDocument } from '../../catalog/validate.ts';
import type { CatalogDifferences, CatalogDocument, CatalogPricing, Lifecycle } from '../../contract/catalog.ts';
import { publishCatalog } from '../../operator/catalog.ts';
import { parseJson } from '../../platform/json.ts';
import { BLANK, Form, type FormState, Submit, TextArea } from '../../ui/form.tsx';
import { count, plural, rate } from '../../ui/format.ts';
import { Badge, Card, Empty, Facts } from '../../ui/parts.tsx';
import { Table } from '../../ui/table.tsx';
import { changedFields } from '../changed-fields.ts';
import { CONSOLE_PATH, type ConsoleContext, type ConsoleEnv } from '../context.ts';
import { fieldLabel, fieldValue } from '../field-words.ts';
import { refusalDetails, send, sends } from '../send.ts';
import { formSecrets, page } from '../shell.tsx';
import { text } from '../submitted.ts';

const PATH = `${CONSOLE_PATH}/catalog`;
/**
 * The form of this page and its confirmation. The limit is twice that of a catalog document, because a form encodes it.
 */
export const CATALOG_FORM = {
  paths: [`${PATH}/publish`, PATH],
  bytesMax: 2 * publishCatalog.operation.bodyBytesMax,
};
/** The most broken rules, and the most names of one kind of difference, on a page. */
const PROBLEMS_SHOWN_MAX = 30;
const NAMES_SHOWN_MAX = 60;

export function mountCatalogPublication(app: Hono<ConsoleEnv>): void {
  app.get('/catalog/publish', (c) => documentPage(c, BLANK));

  app.post('/catalog/publish', sends(publishCatalog), async (c) => {
    const { document, typed, problems } = readDocument(c);
    if (!document) return documentPage(c, broken(typed, problems));
    const catalog = c.get('catalog');
    return confirmationPage(c, document, diffCatalogs(catalog, document), catalog.version);
  });

  app.post('/catalog', sends(publishCatalog), async (c) => {
    const { document, typed, problems } = readDocument(c);
    if (!document) return documentPage(c, broken(typed, problems));
    const answer = await send(c, publishCatalog, { body: document });
    if (!answer.ok)
      return documentPage(c, { values: { document: typed }, details: inDocument(refusalDetails(answer.refusal)) });
    return c.redirect(`${PATH}?done=published`, 303);
  });
}

/** The uploaded or typed document. */
function readDocument(c: ConsoleContext): { document: CatalogDocument | null; typed: string; problems: Problem[] } {
  const { fields, files } = c.get('submitted');
  const typed = files.file ?? text(fields, 'document');
  const parsed = parseJson(typed);
  return parsed.ok
    ? { typed, ...readCatalogDocument(parsed.value) }
    : { typed, document: null, problems: [{ modelKey: '', field: '', message: 'must be valid JSON' }] };
}

function broken(typed: string, problems: readonly Problem[]): FormState {
  const shown = problems
    .slice(0, PROBLEMS_SHOWN_MAX)
    .map(({ modelKey, field, message }) => ({ path: [modelKey, field].filter(Boolean).join(' '), message }));
  const more = problems.length - shown.length;
  return {
    values: { document: typed },
    details: inDocument([...shown, ...(more > 0 ? [{ path: '', message: `and ${count(more)} more` }] : [])]),
  };
}

/** Moves errors to the document's field, which is the only one; each message names the path in the document. */
function inDocument(details: FormState['details']): FormState['details'] {
  return details.map(({ path, message }) => ({
    path: 'document',
    message: path === '' ? message : `${path}: ${message}`,
  }));
}

function documentPage(c: ConsoleContext, state: FormState) {
  return page(
    c,
    {
      title: 'Publish a catalog',
      status: state.details.length > 0 ? 400 : 200,
      sub: 'The differences are shown before anything is published.',
      crumbs: [{ text: 'Model catalog', href: PATH }],
    },
    <Card>
      <Form of={publishCatalog} action={`${PATH}/publish`} secrets={formSecrets(c)} state={state} upload>
        <div class="field">
          <label for="file">File</label>
          <input id="file" name="file" type="file" accept=".json,application/json" aria-describedby="file-hint" />
          <p class="quiet hint" id="file-hint">
            A complete catalog document, up to 8 MiB. Models that it does not contain are removed.
          </p>
        </div>
        <TextArea name="document" label="Or paste the document" rows={12} mono />
        <Submit back={PATH}>Show the differences</Submit>
      </Form>
    </Card>,
  );
}

function confirmationPage(
  c: ConsoleContext,
  document: CatalogDocument,
  differences: CatalogDifferences,
  before: string,
) {
  const { added, removed, repriced, lifecycle, other } = differences;
  const changes = added.length + removed.length + repriced.length + lifecycle.length + other.length;
  return page(
    c,
    {
      title: 'Differences',
      sub: `Against the catalog in use, ${before}`,
      crumbs: [
        { text: 'Model catalog', href: PATH },
        { text: 'Publish a catalog', href: `${PATH}/publish` },
      ],
    },
    <>
      <Card title="Changes">
        {changes === 0 ? (
          <Empty title="No changes">
            The document equals the catalog in use. Publishing it creates a new release with the same content.
          </Empty>
        ) : (
          <Facts
            items={[
              ['New models', named(added)],
              ['Removed', removed.length > 0 ? <Badge tone="bad">{named(removed)}</Badge> : undefined],
              ['Repriced', repriced.length > 0 ? plural(repriced.length, 'model') : undefined],
              ['Changed lifecycle', lifecycle.length > 0 ? plural(lifecycle.length, 'model') : undefined],
              ['Other facts', named(other)],
            ]}
          />
        )}
        <Form of={publishCatalog} action={PATH} secrets={formSecrets(c)} label="Publish">
          <textarea name="document" hidden readonly aria-label="Document">
            {JSON.stringify(document)}
          </textarea>
          <Submit back={`${PATH}/publish`}>Publish</Submit>
        </Form>
      </Card>
      {repriced.length > 0 && (
        <Card
          title="Prices"
          note="USD per million tokens. The new prices apply to calls that end after the publication."
        >
          <Repriced rows={repriced} />
        </Card>
      )}
      {lifecycle.length > 0 && (
        <Card title="Lifecycles">
          <Redated rows={lifecycle} />
        </Card>
      )}
    </>,
  );
}

function named(names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined;
  const more = names.length - NAMES_SHOWN_MAX;
  return `${count(names.length)}: ${names.slice(0, NAMES_SHOWN_MAX).join(', ')}${more > 0 ? `, and ${count(more)} more` : ''}`;
}

const Step: FC<{ before: number | undefined; after: number | undefined }> = ({ before, after }) => {
  const [was, will] = [before, after].map((value) => (value === undefined ? 'none' : rate(value)));
  return was === will ? (
    <span class="quiet">{will}</span>
  ) : (
    <span>
      {`${was} → `}
      <strong>{will}</strong>
    </span>
  );
};

const Repriced: FC<{ rows: { modelKey: string; before: CatalogPricing | null; after: CatalogPricing | null }[] }> = ({
  rows,
}) => (
  <Table
    caption="Changed prices"
    rows={rows}
    columns={[
      { title: 'Model', heading: true, cell: ({ modelKey }) => modelKey },
      {
        title: 'Input',
        figure: true,
        cell: ({ before, after }) => <Step before={before?.inputUsdPerMillion} after={after?.inputUsdPerMillion} />,
      },
      {
        title: 'Output',
        figure: true,
        cell: ({ before, after }) => <Step before={before?.outputUsdPerMillion} after={after?.outputUsdPerMillion} />,
      },
    ]}
  />
);

const Redated: FC<{ rows: { modelKey: string; before: Lifecycle | null; after: Lifecycle | null }[] }> = ({ rows }) => (
  <Table
    caption="Changed lifecycles"
    rows={rows}
    columns={[
      { title: 'Model', heading: true, cell: ({ modelKey }) => modelKey },
      {
        title: 'Changes',
        cell: ({ before, after }) => (
          <span>
            {changedFields(before, after)
              .filter(({ field }) => !field.startsWith('source'))
              .map(({ field, before: was, after: will }) => (
                <span class="sub">{`${fieldLabel(field)}: ${fieldValue(field, was)} → ${fieldValue(field, will)}`}</span>
              ))}
          </span>
        ),
      },
    ]}
  />
);
