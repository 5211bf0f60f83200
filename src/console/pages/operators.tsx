/**
 * Named operators: the people who sign in by Cloudflare Access, and their roles.
 */
import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import type { NamedOperator } from '../../contract/operators.ts';
import { ROLE_MEANINGS, ROLES } from '../../contract/roles.ts';
import { deleteOperator, listOperators, putOperator } from '../../operator/operators.ts';
import { pageRequest } from '../../platform/page.ts';
import { ButtonForm, Form, type FormState, Submit, TextField } from '../../ui/form.tsx';
import { words } from '../../ui/format.ts';
import { Badge, Card, Code, Empty, Time } from '../../ui/parts.tsx';
import { Pager, Table, totalText } from '../../ui/table.tsx';
import { readTrail } from '../../ui/trail.ts';
import { CONSOLE_PATH, type ConsoleContext, type ConsoleEnv } from '../context.ts';
import { refused } from '../refused.tsx';
import { BodyFields, bodyIn } from '../schema-form.tsx';
import { load, send, wrong } from '../send.ts';
import { formSecrets, page } from '../shell.tsx';
import { text } from '../submitted.ts';

const PATH = `${CONSOLE_PATH}/operators`;
const PAGE_SIZE = 50;
const NEW: FormState = { values: { role: 'viewer' }, details: [] };

export function mountOperators(app: Hono<ConsoleEnv>): void {
  app.get('/operators', (c) => operatorsPage(c, NEW));

  app.post('/operators', async (c) => {
    const { fields } = c.get('submitted');
    const answer = await send(c, putOperator, {
      params: { name: text(fields, 'name') },
      body: bodyIn(putOperator, fields),
    });
    return answer.ok ? c.redirect(`${PATH}?done=operator`, 303) : operatorsPage(c, wrong(c, answer.refusal));
  });

  app.post('/operators/:name/remove', async (c) => {
    const answer = await send(c, deleteOperator);
    return answer.ok ? c.redirect(`${PATH}?done=operator-removed`, 303) : refused(c, answer.refusal);
  });
}

async function operatorsPage(c: ConsoleContext, state: FormState) {
  const cursor = c.req.query('cursor');
  const asked = pageRequest({ limit: PAGE_SIZE, cursor }) ?? { limit: PAGE_SIZE, after: null };
  const answer = await load(c, listOperators, { page: asked });
  if (!answer.ok) return refused(c, answer.refusal);
  const { items, nextCursor } = answer.data;
  const isConfigured = c.env.ACCESS_TEAM_DOMAIN && c.env.ACCESS_AUD;
  const secrets = formSecrets(c);
  return page(
    c,
    {
      title: 'Operators',
      status: state.details.length > 0 ? 400 : 200,
      sub: 'People and service tokens that Cloudflare Access lets in. A person with the operator token is an admin.',
    },
    <>
      <Card>
        {items.length > 0 ? (
          <Operators
            items={items}
            isWhole={asked.after === null && nextCursor === null}
            secrets={secrets}
            nowMs={Date.now()}
          />
        ) : (
          <Empty title="No named operators">
            {isConfigured ? (
              'People whom Access lets in have no role until you give them one below.'
            ) : (
              <>
                Access is not configured: set <Code>ACCESS_TEAM_DOMAIN</Code> and <Code>ACCESS_AUD</Code> in{' '}
                <Code>wrangler.toml</Code>, and everybody who works here has a name in the event log.
              </>
            )}
          </Empty>
        )}
        <Pager
          path={PATH}
          query={{}}
          next={nextCursor}
          first={asked.after === null}
          previous={readTrail(c.req.query(), items.length)}
        />
      </Card>
      <Card title="Give a role" note="A role applies from the next request on.">
        <Form of={putOperator} action={PATH} secrets={secrets} state={state}>
          <TextField
            name="name"
            label="E-mail address, or client id of a service token"
            placeholder="ada@example.com"
            required
          />
          <BodyFields
            of={putOperator}
            overrides={{
              role: {
                options: ROLES.map((role) => [role, words(role), ROLE_MEANINGS[role]]),
                hint: 'A role includes those before it.',
              },
            }}
          />
          <Submit>Save</Submit>
        </Form>
      </Card>
    </>,
  );
}

const Operators: FC<{
  items: NamedOperator[];
  isWhole: boolean;
  secrets: ReturnType<typeof formSecrets>;
  nowMs: number;
}> = ({ items, isWhole, secrets, nowMs }) => (
  <Table
    caption="Operators"
    rows={items}
    total={totalText(items.length, 'operator', isWhole)}
    columns={[
      { title: 'Operator', heading: true, cell: ({ name }) => name },
      { title: 'Role', cell: ({ role }) => <Badge>{role}</Badge> },
      { title: 'Since', cell: ({ updatedAt }) => <Time at={updatedAt} nowMs={nowMs} /> },
      {
        title: 'Actions',
        cell: ({ name }) => (
          <ButtonForm
            of={deleteOperator}
            action={`${PATH}/${encodeURIComponent(name)}/remove`}
            secrets={secrets}
            danger
          >
            Remove
          </ButtonForm>
        ),
      },
    ]}
  />
);
