/**
 * API keys: made and shown once, renamed and rescoped without a new value, revoked for good.
 */
import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import type { z } from 'zod';
import { operations } from '../../contract/operations.ts';
import { type CreatedKey, CreateKeyRequest, type Key, UpdateKeyRequest } from '../../contract/operator.ts';
import { EMBED_SCOPE, SCOPES, SERVER_SCOPES } from '../../contract/scopes.ts';
import { createKey, listKeys, revokeKey, updateKey } from '../../operator/keys.ts';
import { pageRequest } from '../../platform/page.ts';
import { CheckGroup, Form, type FormSecrets, type FormState, Select, TextField } from '../../ui/form.tsx';
import { Badge, Card, Code, Empty, Notice, Time } from '../../ui/parts.tsx';
import { Pager, Table } from '../../ui/table.tsx';
import { type ConsoleContext, type ConsoleEnv, organizationPath } from '../context.ts';
import { refused } from '../refused.tsx';
import { page, secretsOf } from '../shell.tsx';
import { check, detailsOf, operatorRequest, text, texts, wrong } from '../submitted.ts';

const PAGE_SIZE = 50;
/** The form value of a row: the key and the page of the list that has it. */
const SCAN_SIZE = 200;
const SCAN_PAGES_MAX = 50;

const PREFIXES = [
  ['utk-', 'utk-: scopes as chosen below'],
  ['ek-', 'ek-: the usage widget alone'],
  ['ck-', 'ck-: legacy, usage'],
  ['ak-', 'ak-: legacy, all of the server'],
  ['cmp-', 'cmp-: legacy, compression'],
  ['gk-', 'gk-: legacy, gateway'],
] as const;

const SCOPE_WORDS: Readonly<Record<string, string>> = {
  'usage:read': 'usage:read, read usage and calls',
  'usage:write': 'usage:write, begin and end calls',
  'customers:read': 'customers:read, list customers and plans',
  'customers:write': 'customers:write, provision customers and change plans',
  'gateway:invoke': 'gateway:invoke, call models through the gateway',
  'compression:invoke': 'compression:invoke, compress prompts and keep samples',
  'events:read': 'events:read, read events of limits, balances and changes',
  'webhooks:write': 'webhooks:write, register webhooks and read what was sent to them',
  'embeds:read': 'embeds:read, sessions of the widget; on an ek- key alone',
};

const SCOPE_OPTIONS = SCOPES.map((scope) => [scope, SCOPE_WORDS[scope] ?? scope] as const);

export function mountKeys(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/keys', async (c) => {
    const { organizationId } = c.get('organization');
    const path = organizationPath(organizationId, 'keys');
    const asked = pageRequest({ limit: PAGE_SIZE, cursor: c.req.query('cursor') }) ?? { limit: PAGE_SIZE, after: null };
    const answer = await listKeys(c.env, organizationId, asked);
    if (!answer.ok) return refused(c, answer.refusal);
    const actions = (
      <a class="button primary" href={`${path}/new`}>
        New key
      </a>
    );
    return page(
      c,
      {
        title: 'API keys',
        sub: 'Only a hash of the key is stored: its value is shown once, when it is created.',
        actions,
      },
      <Card>
        {answer.data.items.length === 0 ? (
          <Empty title="No key yet">
            An application needs one to begin calls. <a href={`${path}/new`}>Create the first key</a>.
          </Empty>
        ) : (
          <Keys path={path} items={answer.data.items} nowMs={Date.now()} />
        )}
        <Pager path={path} query={{}} next={answer.data.nextCursor} first={asked.after === null} />
      </Card>,
    );
  });

  app.get('/organizations/:org/keys/new', (c) =>
    newPage(c, { values: { prefix: 'utk-', scopes: [...SERVER_SCOPES] }, details: [] }),
  );

  app.post('/organizations/:org/keys', async (c) => {
    const { organizationId } = c.get('organization');
    const { fields } = c.get('submitted');
    const prefix = text(fields, 'prefix');
    // The scopes of the form are those of a key of our own; the other prefixes say what they may.
    const body = { name: text(fields, 'name'), prefix, ...(prefix === 'utk-' && { scopes: texts(fields, 'scopes') }) };
    const checked = check(CreateKeyRequest, body);
    if (!checked.ok) return newPage(c, wrong(c, checked.details));
    const request = await operatorRequest(c, operations.createKey, {
      params: { org: organizationId },
      body: checked.value,
    });
    const answer = await createKey(request, organizationId, checked.value);
    return answer.ok ? createdPage(c, answer.data) : newPage(c, wrong(c, detailsOf(answer.refusal)));
  });

  app.get('/organizations/:org/keys/:keyId', async (c) => {
    const key = await findKey(c);
    if (!key) return refused(c, { code: 'NOT_FOUND', message: 'no such key' });
    return keyPage(c, key, { values: { name: key.name, scopes: key.scopes ?? [] }, details: [] });
  });

  app.post('/organizations/:org/keys/:keyId', async (c) => {
    const { organizationId } = c.get('organization');
    const key = await findKey(c);
    if (!key) return refused(c, { code: 'NOT_FOUND', message: 'no such key' });
    const { fields } = c.get('submitted');
    const scopes = texts(fields, 'scopes');
    // A legacy key without a choice keeps what its prefix allows.
    const body = { name: text(fields, 'name'), ...((key.scopes !== null || scopes.length > 0) && { scopes }) };
    const checked = check(UpdateKeyRequest, body);
    if (!checked.ok) return keyPage(c, key, wrong(c, checked.details));
    const request = await operatorRequest(c, operations.updateKey, {
      params: { org: organizationId, keyId: key.keyId },
      body: checked.value,
    });
    const answer = await updateKey(request, organizationId, key.keyId, checked.value);
    if (!answer.ok) return keyPage(c, key, wrong(c, detailsOf(answer.refusal)));
    return c.redirect(`${organizationPath(organizationId, 'keys')}?done=key`, 303);
  });

  app.post('/organizations/:org/keys/:keyId/revoke', async (c) => {
    const { organizationId } = c.get('organization');
    const keyId = c.req.param('keyId');
    const request = await operatorRequest(c, operations.revokeKey, { params: { org: organizationId, keyId } });
    const answer = await revokeKey(request, organizationId, keyId);
    if (!answer.ok) return refused(c, answer.refusal);
    return c.redirect(`${organizationPath(organizationId, 'keys')}?done=revoked`, 303);
  });
}

/** The key of the path, out of the list: the use cases have no reading of a single one. */
async function findKey(c: ConsoleContext): Promise<Key | null> {
  const keyId = c.req.param('keyId');
  let after: string | null = null;
  for (let pages = 0; pages < SCAN_PAGES_MAX; pages += 1) {
    const answer = await listKeys(c.env, c.get('organization').organizationId, { limit: SCAN_SIZE, after });
    const found = answer.ok ? answer.data.items.find((key) => key.keyId === keyId) : undefined;
    if (found) return found;
    if (!answer.ok || answer.data.nextCursor === null) return null;
    after = answer.data.items.at(-1)?.keyId ?? null;
  }
  return null;
}

const Scopes: FC<{ item: Key }> = ({ item: { scopes, prefix } }) =>
  scopes === null ? (
    <span class="quiet">those of {prefix}</span>
  ) : scopes.length === SERVER_SCOPES.length ? (
    <span>all of the server</span>
  ) : (
    <span>{scopes.join(', ')}</span>
  );

const Keys: FC<{ path: string; items: Key[]; nowMs: number }> = ({ path, items, nowMs }) => (
  <Table
    caption="API keys"
    rows={items}
    columns={[
      {
        title: 'Name',
        heading: true,
        cell: ({ keyId, name }) => <a href={`${path}/${encodeURIComponent(keyId)}`}>{name}</a>,
      },
      { title: 'Key', cell: ({ prefix, hint }) => <Code>{`${prefix}…${hint}`}</Code> },
      {
        title: 'State',
        cell: ({ revokedAt }) => <Badge tone={revokedAt ? 'bad' : 'good'}>{revokedAt ? 'revoked' : 'works'}</Badge>,
      },
      { title: 'Scopes', cell: (item) => <Scopes item={item} /> },
      { title: 'Made', cell: ({ createdAt }) => <Time at={createdAt} nowMs={nowMs} /> },
    ]}
  />
);

const crumbsOf = (path: string) => [{ text: 'API keys', href: path }];

function newPage(c: ConsoleContext, state: FormState) {
  const path = organizationPath(c.get('organization').organizationId, 'keys');
  return page(
    c,
    { title: 'New key', status: state.details.length > 0 ? 400 : 200, crumbs: crumbsOf(path) },
    <Card>
      <Form action={path} secrets={secretsOf(c)} state={state}>
        <TextField
          name="name"
          label="Name"
          state={state}
          required
          hint="What the key is for: the application, the environment."
        />
        <Select name="prefix" label="Kind" state={state} options={PREFIXES} />
        <CheckGroup
          name="scopes"
          label="Scopes"
          state={state}
          hint="For a utk- key. Grant only what it needs."
          options={SCOPE_OPTIONS.filter(([scope]) => scope !== EMBED_SCOPE)}
        />
        <div class="submit">
          <button type="submit" class="primary">
            Create key
          </button>
          <a href={path}>Not now</a>
        </div>
      </Form>
    </Card>,
  );
}

function createdPage(c: ConsoleContext, { key, scopes }: z.infer<typeof CreatedKey>) {
  const path = organizationPath(c.get('organization').organizationId, 'keys');
  return page(
    c,
    { title: 'Your new key', crumbs: crumbsOf(path) },
    <Card>
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
      </div>
    </Card>,
  );
}

function keyPage(c: ConsoleContext, key: Key, state: FormState) {
  const path = organizationPath(c.get('organization').organizationId, 'keys');
  const own = `${path}/${encodeURIComponent(key.keyId)}`;
  const revoked = key.revokedAt !== null;
  return page(
    c,
    {
      title: key.name,
      status: state.details.length > 0 ? 400 : 200,
      sub: (
        <>
          <Code>{`${key.prefix}…${key.hint}`}</Code> made <Time at={key.createdAt} nowMs={Date.now()} />
        </>
      ),
      crumbs: crumbsOf(path),
    },
    revoked ? (
      <Notice tone="bad">
        The key was revoked <Time at={key.revokedAt ?? ''} nowMs={Date.now()} />. It works nowhere, and cannot be
        brought back.
      </Notice>
    ) : (
      <div class="grid">
        <Card title="Name and scopes">
          <KeyForm own={own} item={key} state={state} secrets={secretsOf(c)} />
        </Card>
        <section class="card danger-zone" aria-label="Revocation">
          <h2>Revoke</h2>
          <p class="quiet">
            The key stops working at once, and so do the browser sessions that it issued. This cannot be undone.
          </p>
          <Form action={`${own}/revoke`} secrets={secretsOf(c)} label="Revoke">
            <div class="submit">
              <button type="submit" class="danger">
                Revoke key
              </button>
            </div>
          </Form>
        </section>
      </div>
    ),
  );
}

const KeyForm: FC<{ own: string; item: Key; state: FormState; secrets: FormSecrets }> = ({
  own,
  item,
  state,
  secrets,
}) => (
  <Form action={own} secrets={secrets} state={state}>
    <TextField name="name" label="Name" state={state} required />
    <CheckGroup
      name="scopes"
      label="Scopes"
      state={state}
      hint={
        item.scopes === null ? 'A legacy key: it may what its prefix allows until scopes are chosen here.' : undefined
      }
      options={SCOPE_OPTIONS.filter(([scope]) => (scope === EMBED_SCOPE) === (item.prefix === 'ek-'))}
    />
    <div class="submit">
      <button type="submit" class="primary">
        Save
      </button>
    </div>
  </Form>
);
