/**
 * API keys: created and shown once; renamed, given other scopes and limits without a new value; revoked for good.
 */
import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import type { Key } from '../../contract/operator.ts';
import { EMBED_SCOPE, SCOPES, SERVER_SCOPES } from '../../contract/scopes.ts';
import { createKey, listKeys, readKey, revokeKey, rotateKey, updateKey } from '../../operator/keys.ts';
import { pageRequest } from '../../platform/page.ts';
import { Form, type FormSecrets, type FormState, Submit } from '../../ui/form.tsx';
import { Card, Code, Empty, Notice, Time } from '../../ui/parts.tsx';
import { Pager } from '../../ui/table.tsx';
import { readTrail } from '../../ui/trail.ts';
import { renderChanges } from '../changes-view.tsx';
import { type ConsoleContext, type ConsoleEnv, organizationPath } from '../context.ts';
import { createdPage, keyCrumbs, revokePage } from '../key-pages.tsx';
import { KeyFacts, Keys } from '../keys-view.tsx';
import { refused } from '../refused.tsx';
import { BodyFields, bodyIn, storedIn } from '../schema-form.tsx';
import { load, send, sends, wrong } from '../send.ts';
import { formSecrets, page } from '../shell.tsx';
import { texts } from '../submitted.ts';

const PAGE_SIZE = 50;

const PREFIXES = [
  ['utk-', 'utk-: scopes as chosen below'],
  ['ek-', 'ek-: the usage widget alone'],
  ['ck-', 'ck-: legacy, usage'],
  ['ak-', 'ak-: legacy, all of the server'],
  ['cmp-', 'cmp-: legacy, compression'],
  ['gk-', 'gk-: legacy, gateway'],
] as const;

const SCOPE_WORDS: Readonly<Record<string, string>> = {
  'usage:read': 'read usage and calls',
  'usage:write': 'begin and end calls',
  'customers:read': 'list customers and plans',
  'customers:write': 'provision customers and change plans',
  'gateway:invoke': 'call models through the gateway',
  'compression:invoke': 'compress prompts and keep samples',
  'events:read': 'read events of limits, balances and changes',
  'webhooks:write': 'register webhooks and read what was sent to them',
  'embeds:read': 'open sessions of the widget; on an ek- key alone',
};

const SCOPE_OPTIONS = SCOPES.map((scope) => [scope, scope, SCOPE_WORDS[scope]] as const);
const EMBED_OPTIONS = SCOPE_OPTIONS.filter(([scope]) => scope === EMBED_SCOPE);
const SERVER_OPTIONS = SCOPE_OPTIONS.filter(([scope]) => scope !== EMBED_SCOPE);

export function mountKeys(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/keys', async (c) => {
    const { organizationId } = c.get('organization');
    const path = organizationPath(organizationId, 'keys');
    const asked = pageRequest({ limit: PAGE_SIZE, cursor: c.req.query('cursor') }) ?? { limit: PAGE_SIZE, after: null };
    const answer = await load(c, listKeys, { page: asked });
    if (!answer.ok) return refused(c, answer.refusal);
    const { items, nextCursor } = answer.data;
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
        {items.length === 0 ? (
          <Empty title="No key yet">
            An application needs one to begin calls. <a href={`${path}/new`}>Create the first key</a>.
          </Empty>
        ) : (
          <Keys
            path={path}
            items={items}
            isWhole={asked.after === null && nextCursor === null}
            sort={c.req.query('sort')}
            nowMs={Date.now()}
          />
        )}
        <Pager
          path={path}
          query={{}}
          next={nextCursor}
          first={asked.after === null}
          previous={readTrail(c.req.query(), items.length)}
        />
      </Card>,
    );
  });

  app.get('/organizations/:org/keys/new', (c) =>
    newPage(c, { values: { prefix: 'utk-', scopes: [...SERVER_SCOPES] }, details: [] }),
  );

  app.post('/organizations/:org/keys', async (c) => {
    const { scopes, ...body } = bodyIn(createKey, c.get('submitted').fields);
    // The form's scopes apply to `utk-` keys only; other prefixes define their own scopes.
    const answer = await send(c, createKey, { body: body.prefix === 'utk-' ? { ...body, scopes } : body });
    return answer.ok ? createdPage(c, answer) : newPage(c, wrong(c, answer.refusal));
  });

  app.get('/organizations/:org/keys/:keyId', async (c) => {
    const found = await load(c, readKey);
    if (!found.ok) return refused(c, found.refusal);
    return keyPage(c, found.data, storedIn(updateKey, found.data));
  });

  app.post('/organizations/:org/keys/:keyId', sends(updateKey), async (c) => {
    const { organizationId } = c.get('organization');
    const found = await load(c, readKey);
    if (!found.ok) return refused(c, found.refusal);
    const key = found.data;
    const { fields } = c.get('submitted');
    // An empty name is refused. A legacy key keeps the scopes of its prefix if no scope is chosen.
    const body = { name: '', ...bodyIn(updateKey, fields), ...(key.scopes && { scopes: texts(fields, 'scopes') }) };
    const answer = await send(c, updateKey, { body });
    if (!answer.ok) return keyPage(c, key, wrong(c, answer.refusal));
    return c.redirect(`${organizationPath(organizationId, 'keys')}?done=key`, 303);
  });

  app.post('/organizations/:org/keys/:keyId/rotate', async (c) => {
    const answer = await send(c, rotateKey, { body: bodyIn(rotateKey, c.get('submitted').fields) });
    return answer.ok ? createdPage(c, answer) : refused(c, answer.refusal);
  });

  app.get('/organizations/:org/keys/:keyId/revoke', async (c) => {
    const found = await load(c, readKey);
    return found.ok ? revokePage(c, found.data) : refused(c, found.refusal);
  });

  app.post('/organizations/:org/keys/:keyId/revoke', async (c) => {
    const answer = await send(c, revokeKey);
    if (!answer.ok) return refused(c, answer.refusal);
    return c.redirect(`${organizationPath(c.get('organization').organizationId, 'keys')}?done=revoked`, 303);
  });
}

const OVERLAPS = [
  ['24', 'a day'],
  ['1', 'an hour'],
  ['168', 'a week'],
  ['720', '30 days'],
] as const;

function newPage(c: ConsoleContext, state: FormState) {
  const path = organizationPath(c.get('organization').organizationId, 'keys');
  return page(
    c,
    { title: 'New key', status: state.details.length > 0 ? 400 : 200, crumbs: keyCrumbs(path) },
    <Card>
      <Form of={createKey} action={path} secrets={formSecrets(c)} state={state}>
        <BodyFields
          of={createKey}
          overrides={{
            prefix: { label: 'Type', hint: 'The prefix of the key.', options: PREFIXES },
            scopes: { hint: 'For a utk- key. Grant only what it needs.', options: SERVER_OPTIONS },
          }}
        />
        <Submit back={path}>Create key</Submit>
      </Form>
    </Card>,
  );
}

async function keyPage(c: ConsoleContext, key: Key, state: FormState) {
  const path = organizationPath(c.get('organization').organizationId, 'keys');
  const own = `${path}/${encodeURIComponent(key.keyId)}`;
  const revoked = key.revokedAt !== null;
  const nowMs = Date.now();
  const changes = await renderChanges(c, {
    organizationId: c.get('organization').organizationId,
    subject: { kind: 'key', id: key.keyId },
    cursor: c.req.query('cursor'),
  });
  return page(
    c,
    {
      title: key.name,
      status: state.details.length > 0 ? 400 : 200,
      sub: (
        <>
          <Code>{`${key.prefix}…${key.hint}`}</Code> created <Time at={key.createdAt} nowMs={Date.now()} />
        </>
      ),
      crumbs: keyCrumbs(path),
    },
    <div class="grid">
      {revoked && (
        <div class="wide">
          <Notice tone="bad">
            The key was revoked <Time at={key.revokedAt ?? ''} nowMs={nowMs} />. It no longer works, and this cannot be
            undone.
          </Notice>
        </div>
      )}
      <div class={revoked ? 'stack wide' : 'stack'}>
        <Card title="What it may do">
          <KeyFacts item={key} nowMs={nowMs} />
        </Card>
        {!revoked && <RotateAndRevoke own={own} secrets={formSecrets(c)} />}
      </div>
      {!revoked && (
        <Card title="Name, scopes, limits, expiry">
          <KeyForm own={own} item={key} state={state} secrets={formSecrets(c)} />
        </Card>
      )}
      {changes}
    </div>,
  );
}

const RotateAndRevoke: FC<{ own: string; secrets: FormSecrets }> = ({ own, secrets }) => (
  <>
    <Card
      title="Rotate"
      note="Creates a new key with the same name, prefix, scopes and limits. This one works until the overlap is over, so that applications can switch."
    >
      <Form of={rotateKey} action={`${own}/rotate`} secrets={secrets} label="Rotate">
        <BodyFields
          of={rotateKey}
          overrides={{ overlapHours: { label: 'This key still works for', options: OVERLAPS } }}
        />
        <div class="submit">
          <button type="submit">Rotate key</button>
        </div>
      </Form>
    </Card>
    <section class="card danger-zone" aria-label="Revocation">
      <h2>Revoke</h2>
      <p class="quiet">
        The key stops working at once, and so do the browser sessions that it issued. This cannot be undone.
      </p>
      <div class="submit">
        <a class="button" href={`${own}/revoke`}>
          Revoke key
        </a>
      </div>
    </section>
  </>
);

const KeyForm: FC<{ own: string; item: Key; state: FormState; secrets: FormSecrets }> = ({
  own,
  item,
  state,
  secrets,
}) => (
  <Form of={updateKey} action={own} secrets={secrets} state={state}>
    <BodyFields
      of={updateKey}
      paths={
        item.prefix === 'ek-' ? ['name', 'scopes', 'expiresAt'] : ['name', 'scopes', 'models', 'features', 'expiresAt']
      }
      overrides={{
        name: { required: true },
        scopes: {
          options: item.prefix === 'ek-' ? EMBED_OPTIONS : SERVER_OPTIONS,
          hint:
            item.scopes === null
              ? 'A legacy key: choose none to keep what its prefix allows.'
              : 'What the key may do. Grant only what it needs.',
        },
      }}
    />
    <Submit>Save</Submit>
  </Form>
);
