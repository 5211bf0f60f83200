/**
 * A form that sends an operation's example from the page. It is for operations of an API key and for public ones: the
 * operator's token does not belong on a public page. Without the page's script it does not show.
 */
import type { FC } from 'hono/jsx';
import { MEDIA_TYPE } from '../../contract/envelope.ts';
import { type Entry, findRoute } from '../../http/openapi/entries.ts';
import { EXAMPLES, type Example } from '../../http/openapi/examples.ts';
import { exampleAddress } from '../../http/openapi/shell.ts';
import { type Step, stepsBefore } from '../../http/openapi/steps.ts';
import type { Parameter } from '../../http/openapi/types.ts';
import { Card } from '../../ui/parts.tsx';
import { operationPath } from './paths.ts';
import { fileText } from './samples/request.ts';
import type { TryStep } from './try-step.ts';

export function canBeTried({ id }: Entry): boolean {
  const { upload, credential } = EXAMPLES[id];
  return findRoute(id).credential !== 'OPERATOR_TOKEN' && upload === undefined && credential === undefined;
}

export const TryIt: FC<{ entry: Entry; parameters: readonly Parameter[] }> = ({ entry, parameters }) => {
  const { id, method, path } = entry;
  const { credential, vendorType } = findRoute(id);
  const example = EXAMPLES[id];
  const steps = stepsBefore(id);
  const own = steps.filter((step) => isOwn(step));
  const others = steps.filter((step) => !isOwn(step));
  const fields = parameters.filter(({ in: place }) => place !== 'header');
  return (
    <Card title="Try it">
      <form
        class="form try"
        hidden
        data-method={method}
        data-path={path}
        data-accept={vendorType ? MEDIA_TYPE : 'application/json'}
        data-steps={JSON.stringify(own.map(toSend))}
      >
        {credential && (
          <div class="field">
            <label for="try-key">API key</label>
            <input id="try-key" name="key" type="password" autocomplete="off" spellcheck={false} required />
            <p class="quiet hint" id="try-key-hint">
              It stays in this page until you leave it, and goes to this server alone.
            </p>
          </div>
        )}
        {fields.length > 0 && (
          <div class="columns">
            {fields.map(({ name, in: place, required }) => (
              <div class="field">
                <label for={`try-${name}`}>
                  {name} <span class="quiet hint">{place}</span>
                </label>
                <input
                  id={`try-${name}`}
                  name={name}
                  data-place={place}
                  value={(place === 'path' ? example.params : example.query)?.[name] ?? ''}
                  required={required ?? false}
                  autocomplete="off"
                  spellcheck={false}
                />
              </div>
            ))}
          </div>
        )}
        {example.body !== undefined && (
          <div class="field">
            <label for="try-body">Body</label>
            <textarea id="try-body" name="body" class="mono" rows={countRows(example.body)} spellcheck={false}>
              {JSON.stringify(example.body, null, 2)}
            </textarea>
          </div>
        )}
        {own.length > 0 && (
          <p class="quiet">
            Before it the page sends{' '}
            {own.map(({ id: needed, value }, index) => (
              <>
                {index > 0 && ', '}
                <a href={operationPath(needed)}>{needed}</a>
                {value && (
                  <>
                    {' '}
                    for <code>${value.name}</code>
                  </>
                )}
              </>
            ))}
            .
          </p>
        )}
        {others.length > 0 && (
          <p class="quiet">
            It needs what the operator makes with{' '}
            {others.map(({ id: needed }, index) => (
              <>
                {index > 0 && ', '}
                <a href={operationPath(needed)}>{needed}</a>
              </>
            ))}
            .
          </p>
        )}
        <div class="actions">
          <button type="submit" class="primary">
            Send
          </button>
          {method !== 'GET' && <span class="quiet">This changes data of the key’s organization.</span>}
        </div>
        <div class="tried" role="status" />
      </form>
      <noscript>
        <p>This form needs the page’s script. The command above does the same.</p>
      </noscript>
    </Card>
  );
};

function isOwn({ id, example }: Step): boolean {
  return findRoute(id).credential === 'DEMO_API_KEY' && example.credential === undefined;
}

function toSend({ id, example, value }: Step): TryStep {
  const { method, path } = findRoute(id);
  return {
    method,
    path: exampleAddress({ path }, example),
    ...(example.body !== undefined && { body: example.body }),
    ...(example.upload && { upload: toUpload(example.upload) }),
    ...(value && { value }),
  };
}

function toUpload(upload: NonNullable<Example['upload']>): NonNullable<TryStep['upload']> {
  const { fields, file } = upload;
  return { fields, file: { field: file.field, name: file.name, text: fileText(upload) } };
}

function countRows(body: unknown): number {
  return Math.min(24, JSON.stringify(body, null, 2).split('\n').length + 1);
}
