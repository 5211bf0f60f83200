/**
 * The setup of an organization as text: each step, and the command for each open one.
 */

import { firstCallCommands, KEY_PLACEHOLDER } from '../contract/first-call.ts';
import type { Data } from './operator-client.ts';
import { indent, table } from './table.ts';

type Setup = Data<'readOrganizationSetup'>;
type Step = Setup['steps'][number];

const OPERATOR = 'npm run -s operator --';
/** The address to which the shell's commands talk, found in the same way as the command line finds it. */
const ADDRESS = `\${CALLMETER_URL:-http://127.0.0.1:\${PORT:-8787}}`;

const commandsFor = (organizationId: string): Readonly<Record<Step['step'], string>> => ({
  plan: `${OPERATOR} plans put ${organizationId} free free.json`,
  defaultPlan: `${OPERATOR} organizations update ${organizationId} --default-plan-id free`,
  key: `${OPERATOR} keys create ${organizationId} --name backend`,
  vendor: `${OPERATOR} vendors put ${organizationId} openai vendor.json`,
  models: `${OPERATOR} models put ${organizationId} --standard openai/gpt-6-luna --premium openai/gpt-6-sol`,
  webhook: `${OPERATOR} webhooks put ${organizationId} main --webhook-url https://example.com/callmeter`,
  call: firstCallCommands(ADDRESS, KEY_PLACEHOLDER),
  cost: firstCallCommands(ADDRESS, KEY_PLACEHOLDER),
});

export function showSetup({ organizationId, steps, complete, lastCall }: Setup): string {
  const open = steps.filter(({ done }) => !done);
  const required = open.filter(({ optional }) => !optional);
  return [
    table(steps, {
      Step: ({ step }) => step,
      State: ({ done, optional }) => (done ? 'done' : optional ? 'optional' : 'to do'),
      'What it is for': ({ purpose }) => purpose,
    }),
    ...(lastCall === null || complete ? [] : [`The newest call, ${lastCall.callId}, is ${lastCall.status}.`]),
    complete ? 'The setup is complete.' : `Next:\n${indent(nextCommands(organizationId, required))}`,
    ...(open.length > required.length
      ? [
          `Optional:\n${indent(
            nextCommands(
              organizationId,
              open.filter(({ optional }) => optional),
            ),
          )}`,
        ]
      : []),
  ].join('\n\n');
}

/** The commands of a first call complete both of its steps. */
function nextCommands(organizationId: string, steps: readonly Step[]): string {
  const commands = commandsFor(organizationId);
  return [...new Set(steps.map(({ step }) => commands[step]))].join('\n');
}
