/**
 * Settings of a customer: the facts of its subscription, its contact, and the rarely used actions.
 */
import type { FC, PropsWithChildren } from 'hono/jsx';
import { planIdOf } from '../../domain/plan.ts';
import { words } from '../../ui/format.ts';
import { Card, Code, Facts, Time } from '../../ui/parts.tsx';
import { customerPath, planPath } from '../context.ts';
import type { Tab } from './tab.ts';

export const settingsTab: Tab = async ({ organizationId, customerId, customer: reading, nowMs }) => {
  const customer = await reading;
  if (!customer) return null;
  const { subscription, policy, createdAt, stripeCustomerId, canceled } = customer;
  const to = (...rest: string[]) => customerPath({ organizationId, customerId }, ...rest);
  return (
    <div class="grid">
      <Card title="Subscription" actions={<a href={to('plan')}>Change plan</a>}>
        <Facts
          items={[
            [
              'Plan',
              <a href={planPath(organizationId, planIdOf(subscription.usagePlanVersionId))}>
                {`${subscription.planName}, version ${subscription.planVersion}`}
              </a>,
            ],
            ['At the limit', words(policy)],
            ['Reasoning ceiling', words(subscription.reasoningLevel)],
            ['Renews', <Time at={subscription.nextReplenishAt} nowMs={nowMs} />],
            ['Subscription', <Code>{subscription.id}</Code>],
            ['Changes so far', String(subscription.subscriptionVersion)],
          ]}
        />
      </Card>
      <Card
        title="Contact"
        note="The application sets name, e-mail and Stripe customer when it provisions the customer."
      >
        <Facts
          items={[
            ['Customer id', <Code>{customerId}</Code>],
            ['Name', subscription.customerFriendlyName ?? null],
            [
              'E-mail',
              subscription.customerEmail === undefined ? null : (
                <a href={`mailto:${encodeURIComponent(subscription.customerEmail).replace('%40', '@')}`}>
                  {subscription.customerEmail}
                </a>
              ),
            ],
            ['Stripe customer', stripeCustomerId === undefined ? null : <Code>{stripeCustomerId}</Code>],
            ['Customer since', <Time at={createdAt} nowMs={nowMs} />],
          ]}
        />
      </Card>
      {canceled ? (
        <Act title="Reactivate subscription" href={to('reactivate')}>
          Calls are allowed again, within the plan and the rest of the period's allowances.
        </Act>
      ) : (
        <Act title="Cancel subscription" href={to('cancel')}>
          New calls are denied. Usage, credits and history are kept, and the subscription can be reactivated.
        </Act>
      )}
      <Act title="Reverse increment" href={to('reverse-increment')}>
        Takes back an increment of a custom meter that was recorded by mistake, with what it charged.
      </Act>
      <section class="card wide danger-zone" aria-label="Erasure">
        <h2>Erase customer</h2>
        <p class="quiet">Removes all data of this customer: usage, credits, calls, samples. This cannot be undone.</p>
        <div class="submit">
          <a class="button" href={to('erase')}>
            Erase customer
          </a>
        </div>
      </section>
    </div>
  );
};

/** A link to an action, with its effect; the action's page asks for confirmation. */
const Act: FC<PropsWithChildren<{ title: string; href: string }>> = ({ title, href, children }) => (
  <Card title={title}>
    <p class="quiet">{children}</p>
    <div class="submit">
      <a class="button" href={href}>
        {title}
      </a>
    </div>
  </Card>
);
