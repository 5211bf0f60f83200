/**
 * A webhook in words: its state and its event types; and its secret, on the one page that shows it.
 */

import type { Child, FC } from 'hono/jsx';
import type { Webhook, WebhookDetail, WebhookFormat } from '../contract/webhooks.ts';
import type { OrganizationId } from '../domain/ids.ts';
import { words } from '../ui/format.ts';
import { Badge, Card, Code, Notice } from '../ui/parts.tsx';
import { type ConsoleContext, organizationPath, webhookPath } from './context.ts';
import { CopyButton } from './live.tsx';
import { page } from './shell.tsx';
import { ShownBefore } from './shown-once.tsx';

export const WebhookState: FC<{ webhook: WebhookDetail }> = ({ webhook: { enabled, disabled, failingSince } }) =>
  enabled ? (
    <Badge tone={failingSince === null ? 'good' : 'warn'}>
      {failingSince === null ? 'enabled' : 'enabled, failing'}
    </Badge>
  ) : (
    <Badge tone={disabled === null ? 'plain' : 'bad'}>disabled</Badge>
  );

export function whyDisabled({ reason }: NonNullable<Webhook['disabled']>): string {
  return reason === 'GONE' ? 'it answered 410' : 'every request failed for five days';
}

export function typesInWords(types: Webhook['types']): string {
  return types === null ? 'all' : types.map(words).join(', ');
}

/** The breadcrumbs of a page below the webhook's own. */
export function webhookCrumbs(organizationId: OrganizationId, webhookId: string) {
  return [
    { text: 'Webhooks', href: organizationPath(organizationId, 'webhooks') },
    { text: webhookId, href: webhookPath(organizationId, webhookId) },
  ];
}

const VERIFY = `import { Webhook } from 'standardwebhooks';

const event = new Webhook(process.env.WEBHOOK_SECRET).verify(body, headers);`;

/** The answer to the form that created the secret. It cannot be loaded again: the address holds only the form. */
export function secretPage(
  c: ConsoleContext,
  title: string,
  { webhookId, format }: { webhookId: string; format: WebhookFormat },
  secret: string,
  wasShownBefore: boolean,
  note: Child,
) {
  const { organizationId } = c.get('organization');
  const path = webhookPath(organizationId, webhookId);
  return page(
    c,
    {
      title,
      crumbs: webhookCrumbs(organizationId, webhookId),
    },
    wasShownBefore ? (
      <ShownBefore thing="secret" own={`${path}/rotate`} />
    ) : (
      <>
        <Card actions={<CopyButton of="secret">Copy the secret</CopyButton>}>
          <Notice tone="warn" title="Copy it now.">
            The secret is shown only once. If you lose it, rotate it.
          </Notice>
          <code class="secret" id="secret">
            {secret}
          </code>
          <p class="quiet">{note}</p>
          <div class="submit">
            <a class="button primary" href={path}>
              I have copied it
            </a>
          </div>
        </Card>
        <Card title="Check the signature">
          {format === 'slack' ? (
            <p>Slack does not check signatures. You need the secret only if you change the format.</p>
          ) : (
            <>
              <p>
                Use a library of Standard Webhooks, and give it the body as it came, before it is parsed. In JavaScript:
              </p>
              <pre class="json">{VERIFY}</pre>
              <p class="quiet">
                Without a library: compute the HMAC-SHA-256 of <Code>webhook-id.webhook-timestamp.body</Code> with the
                part of the secret after <Code>whsec_</Code>, decoded from base64, as the key. Its base64 after{' '}
                <Code>v1,</Code> must be one of the signatures in <Code>webhook-signature</Code>, which spaces separate.
                Refuse a timestamp that is more than five minutes off.
              </p>
            </>
          )}
        </Card>
      </>
    ),
  );
}
