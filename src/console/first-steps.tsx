/**
 * A page of an organization that has had no call: its next steps, in place of empty figures and lists.
 */
import { findSetup } from '../operator/organization-setup.ts';
import type { ConsoleContext } from './context.ts';
import { Checklist } from './setup-view.tsx';
import { page } from './shell.tsx';

/** The page with the next steps; `null` after the first call. A page asks for it if it has nothing to show. */
export async function firstStepsPage(c: ConsoleContext, title: string): Promise<Response | null> {
  const organization = c.get('organization');
  const setup = await findSetup(c.env, organization, Date.now());
  if (setup.steps.some(({ step, done }) => step === 'call' && done)) return null;
  return page(
    c,
    { title, sub: 'Nothing is here before the first call. These are the steps to it.' },
    <Checklist organizationId={organization.organizationId} setup={setup} origin={new URL(c.req.url).origin} />,
  );
}
