/**
 * Two versions of a plan side by side, field by field.
 */
import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import type { Plan } from '../../contract/plans.ts';
import { type PlanDetail, readPlan } from '../../operator/plans.ts';
import { type FormState, GetForm, Select } from '../../ui/form.tsx';
import { plural } from '../../ui/format.ts';
import { Badge, Card, Empty } from '../../ui/parts.tsx';
import { Table } from '../../ui/table.tsx';
import { allFields } from '../changed-fields.ts';
import { type ConsoleContext, type ConsoleEnv, organizationPath, planPath } from '../context.ts';
import { fieldLabel, fieldValue } from '../field-words.ts';
import { refused } from '../refused.tsx';
import { load } from '../send.ts';
import { page } from '../shell.tsx';

export function mountPlanComparison(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/plans/:planId/compare', async (c) => {
    const answer = await load(c, readPlan);
    return answer.ok ? comparePage(c, answer.data) : refused(c, answer.refusal);
  });
}

function comparePage(c: ConsoleContext, detail: PlanDetail) {
  const { organizationId } = c.get('organization');
  const { planId, versions, version } = detail;
  const numberInQuery = (name: string, otherwise: number) => Number(c.req.query(name) ?? otherwise);
  const [a, b] = [numberInQuery('a', version - 1), numberInQuery('b', version)].map((number) =>
    versions.find((one) => one.version === number),
  );
  const path = planPath(organizationId, planId);
  const options = versions.map((one) => [String(one.version), `Version ${one.version}`] as const);
  const state: FormState = { values: { a: String(a?.version ?? ''), b: String(b?.version ?? '') }, details: [] };
  return page(
    c,
    {
      title: 'Compare versions',
      crumbs: [
        { text: 'Plans', href: organizationPath(organizationId, 'plans') },
        { text: detail.plan.name, href: path },
      ],
    },
    <Card>
      <GetForm action={`${path}/compare`} state={state}>
        <div class="filters">
          <Select name="a" label="Older" options={options} />
          <Select name="b" label="Newer" options={options} />
          <button type="submit">Compare</button>
        </div>
      </GetForm>
      {a && b ? (
        <SideBySide before={a.plan} after={b.plan} names={[`Version ${a.version}`, `Version ${b.version}`]} />
      ) : (
        <Empty title="Choose two versions">One of the requested versions does not exist.</Empty>
      )}
    </Card>,
  );
}

/** Every field of two versions; those that differ come first. */
const SideBySide: FC<{ before: Plan; after: Plan; names: readonly [string, string] }> = ({ before, after, names }) => {
  const rows = allFields(before, after);
  const changed = rows.filter((row) => row.changed).length;
  return (
    <>
      <p class="quiet">{changed === 0 ? 'They are the same.' : `${plural(changed, 'field')} changed.`}</p>
      <Table
        caption="Fields of both versions"
        rows={rows.toSorted((one, other) => Number(other.changed) - Number(one.changed))}
        columns={[
          { title: 'Field', heading: true, cell: ({ field }) => fieldLabel(field) },
          { title: names[0], cell: ({ field, before: was }) => fieldValue(field, was) },
          {
            title: names[1],
            cell: ({ field, after: will, changed: other }) =>
              other ? <strong>{fieldValue(field, will)}</strong> : fieldValue(field, will),
          },
          { title: 'Changed', cell: ({ changed: other }) => (other ? <Badge tone="warn">changed</Badge> : '') },
        ]}
      />
    </>
  );
};
