/**
 * The page of a new key, with the commands of a first call; and the page that asks for confirmation before a key is
 * revoked.
 */
import type { Accepted } from '../contract/errors.ts';
import type { DataOf } from '../contract/operations.ts';
import type { Key } from '../contract/operator.ts';
import { type createKey, revokeKey } from '../operator/keys.ts';
import { Form, Submit } from '../ui/form.tsx';
import { Card, Code, Notice, Time } from '../ui/parts.tsx';
import { type ConsoleContext, organizationPath } from './context.ts';
import { CopyButton } from './live.tsx';
import { FirstCall, setupPath } from './setup-view.tsx';
import { formSecrets, page } from './shell.tsx';
import { ShownBefore, wasShown } from './shown-once.tsx';

export const keyCrumbs = (path: string) => [{ text: 'API keys', href: path }];

/** The page of a new key. If the form is sent again, as by a reload, the page does not show the key. */
export function createdPage(c: ConsoleContext, answer: Accepted<DataOf<typeof createKey.operation>>) {
  const { key, scopes, keyId } = answer.data;
  const path = organizationPath(c.get('organization').organizationId, 'keys');
  if (wasShown(answer)) {
    const own = `${path}/${encodeURIComponent(keyId)}`;
    return page(c, { title: 'Your new key', crumbs: keyCrumbs(path) }, <ShownBefore thing="key" own={own} />);
  }
  return page(
    c,
    { title: 'Your new key', crumbs: keyCrumbs(path) },
    <>
      <Card actions={<CopyButton of="key">Copy the key</CopyButton>}>
        <Notice tone="warn" title="Copy it now.">
          It is shown only once and not stored.
        </Notice>
        <code class="secret" id="key">
          {key}
        </code>
        <p class="quiet">
          {scopes ? `It may: ${scopes.join(', ')}.` : 'Its prefix defines what it may do.'} It works at once.
        </p>
        <div class="submit">
          <a class="button primary" href={path}>
            I have copied it
          </a>
          <a href={setupPath(c.get('organization').organizationId)}>Setup</a>
        </div>
      </Card>
      {scopes?.includes('usage:write') && <FirstCall origin={new URL(c.req.url).origin} apiKey={key} />}
    </>,
  );
}

export function revokePage(c: ConsoleContext, key: Key) {
  const path = organizationPath(c.get('organization').organizationId, 'keys');
  const own = `${path}/${encodeURIComponent(key.keyId)}`;
  return page(
    c,
    { title: 'Revoke key', crumbs: [...keyCrumbs(path), { text: key.name, href: own }] },
    <Card>
      <Form of={revokeKey} action={`${own}/revoke`} secrets={formSecrets(c)}>
        <p>
          <Code>{`${key.prefix}…${key.hint}`}</Code> stops working at once, and so do the browser sessions that it
          issued. This cannot be undone.{' '}
          {key.lastUsedAt === null ? (
            'It was never used.'
          ) : (
            <>
              It was used last <Time at={key.lastUsedAt} nowMs={Date.now()} />.
            </>
          )}{' '}
          To replace a key that is in use, rotate it instead.
        </p>
        <Submit back={own} danger>
          Revoke key
        </Submit>
      </Form>
    </Card>,
  );
}
