/**
 * The setup of an organization: the checklist that ends with the first call, and a form that hides it on overviews.
 */
import type { Hono } from 'hono';
import { findSetup } from '../../operator/organization-setup.ts';
import type { ConsoleEnv } from '../context.ts';
import { hiddenSetups, hideSetup } from '../hidden-setups.ts';
import { Checklist, Hiding, setupPath } from '../setup-view.tsx';
import { formSecrets, page } from '../shell.tsx';

/** For browsers without script. */
const REFRESH_SECONDS = 10;

export function mountSetup(app: Hono<ConsoleEnv>): void {
  app.get('/organizations/:org/setup', async (c) => {
    const organization = c.get('organization');
    const { organizationId } = organization;
    const setup = await findSetup(c.env, organization, Date.now());
    const hidden = hiddenSetups(c).includes(organizationId);
    return page(
      c,
      {
        title: 'Setup',
        sub: 'From a new organization to its first priced call. This page updates by itself.',
        actions: <Hiding organizationId={organizationId} hidden={hidden} secrets={formSecrets(c)} />,
        ...(!setup.complete && { refreshSeconds: REFRESH_SECONDS }),
      },
      <Checklist organizationId={organizationId} setup={setup} origin={new URL(c.req.url).origin} />,
    );
  });

  for (const [name, isHidden] of [
    ['hide', true],
    ['show', false],
  ] as const) {
    app.post(`/organizations/:org/setup/${name}`, (c) => {
      const { organizationId } = c.get('organization');
      hideSetup(c, organizationId, isHidden);
      return c.redirect(`${setupPath(organizationId)}?done=setup-${name}`, 303);
    });
  }
}
