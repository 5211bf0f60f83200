/**
 * The vendors of an organization: their addresses and their keys. The console never shows a stored key.
 */
import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import { type SetVendorRequest, VENDOR_BASE_URLS, type Vendor } from '../../contract/vendors.ts';
import { VENDOR_KINDS } from '../../domain/vendor-kind.ts';
import { listDatedVendors, readVendor, setVendor } from '../../operator/vendors.ts';
import { Form, type FormSecrets, type FormState, Submit, TextField } from '../../ui/form.tsx';
import { plural } from '../../ui/format.ts';
import { Card, Code, Empty, Time } from '../../ui/parts.tsx';
import { Table } from '../../ui/table.tsx';
import { type ConsoleContext, type ConsoleEnv, organizationPath } from '../context.ts';
import { BodyFields, bodyIn } from '../schema-form.tsx';
import { load, send, wrong } from '../send.ts';
import { formSecrets, page } from '../shell.tsx';
import { text } from '../submitted.ts';

/** The settings in the form; all others keep their values. */
const FIELDS = ['baseUrl', 'kind', 'apiKey'];

export function mountVendors(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/vendors', (c) =>
    vendorsPage(c, { values: { provider: c.req.query('provider') ?? '' }, details: [] }),
  );

  app.post('/organizations/:org/vendors', async (c) => {
    const { fields } = c.get('submitted');
    const params = { provider: text(fields, 'provider') };
    const known = await load(c, readVendor, { params });
    const body = { ...(known.ok && kept(known.data)), ...bodyIn(setVendor, fields, FIELDS) };
    const answer = await send(c, setVendor, { params, body });
    if (answer.ok) return c.redirect(`${c.req.path}?done=vendor`, 303);
    return vendorsPage(c, wrong(c, answer.refusal));
  });
}

/** The settings that a vendor keeps if the form does not send them. */
function kept({ baseUrl, kind, useReportedCost, headers, passthrough }: Vendor): Partial<SetVendorRequest> {
  return { baseUrl, kind, useReportedCost, ...(headers && { headers }), ...(passthrough && { passthrough }) };
}

async function vendorsPage(c: ConsoleContext, state: FormState) {
  const { organizationId } = c.get('organization');
  const path = organizationPath(organizationId, 'vendors');
  const vendors = await listDatedVendors(c.env, organizationId);
  return page(
    c,
    {
      title: 'Vendors',
      sub: 'Vendors that Callmeter sends calls to.',
      status: state.details.length > 0 ? 400 : 200,
    },
    <>
      <Card title="Known vendors">
        <Vendors path={path} vendors={vendors} nowMs={Date.now()} />
      </Card>
      <Card title="Add a vendor, or replace its key">
        <VendorForm path={path} state={state} secrets={formSecrets(c)} />
      </Card>
    </>,
  );
}

const Vendors: FC<{ path: string; vendors: Awaited<ReturnType<typeof listDatedVendors>>; nowMs: number }> = ({
  path,
  vendors,
  nowMs,
}) =>
  vendors.length === 0 ? (
    <Empty title="No vendor yet">
      Metering works without vendors. The unified call and the gateway need a vendor's address and key.
    </Empty>
  ) : (
    <Table
      caption="Vendors"
      rows={vendors}
      total={plural(vendors.length, 'vendor')}
      columns={[
        { title: 'Vendor', heading: true, cell: ({ provider }) => provider },
        { title: 'Kind', cell: ({ kind }) => kind },
        { title: 'Address', cell: ({ baseUrl }) => <Code>{baseUrl}</Code> },
        { title: 'Key', cell: ({ keyHint }) => <Code>{`…${keyHint}`}</Code> },
        { title: 'Open paths', cell: ({ passthrough }) => passthrough?.map((path) => <Code>{path}</Code>) },
        { title: 'Updated', cell: ({ updatedAtMs }) => <Time at={updatedAtMs} nowMs={nowMs} /> },
        {
          title: 'Actions',
          cell: ({ provider }) => <a href={`${path}?${new URLSearchParams({ provider })}#f-apiKey`}>Replace key</a>,
        },
      ]}
    />
  );

const VendorForm: FC<{ path: string; state: FormState; secrets: FormSecrets }> = ({ path, state, secrets }) => (
  <Form of={setVendor} action={path} secrets={secrets} state={state}>
    <div class="columns">
      <TextField
        name="provider"
        label="Vendor"
        required
        placeholder="openai"
        hint={`Known addresses: ${Object.keys(VENDOR_BASE_URLS).join(', ')}.`}
      />
      <BodyFields
        of={setVendor}
        paths={FIELDS}
        overrides={{
          baseUrl: {
            hint: "With the version prefix. Leave empty to keep the current address, or to use the vendor's public one.",
          },
          kind: {
            options: [
              ['', 'Keep the current kind, or use the one of the address'],
              ...VENDOR_KINDS.map((kind) => [kind, kind] as const),
            ],
            hint: 'The API that the vendor has. Choose compatible for any other that is compatible with OpenAI.',
          },
        }}
      />
    </div>
    <p>Fixed headers and open paths are set with the command line or the API, and stay as they are.</p>
    <Submit>Save vendor</Submit>
  </Form>
);
