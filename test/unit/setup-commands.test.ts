/**
 * `organizations setup`: the commands that it prints exist, and match the open steps.
 */

import { expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/operator-commands.ts';
import { showSetup } from '../../src/cli/operator-setup.ts';
import { SETUP_STEPS } from '../../src/contract/operator.ts';
import { asOrganizationId } from '../../src/domain/ids.ts';

const OPTIONAL = ['vendor', 'models', 'webhook'];

function setupWith(done: readonly string[]) {
  const steps = SETUP_STEPS.map((step) => ({
    step,
    purpose: `What ${step} is for.`,
    optional: OPTIONAL.includes(step),
    done: done.includes(step),
  }));
  const complete = steps.every((step) => step.done || step.optional);
  return { organizationId: asOrganizationId('org-1'), complete, steps, lastCall: null };
}

const commandsIn = (text: string) =>
  [...text.matchAll(/operator -- (\w+) (\w+) (\S+)/g)].map(([, noun, verb, org]) => `${noun} ${verb} ${org}`);

test('every printed command is one of the command line, for this organization', () => {
  const printed = commandsIn(showSetup(setupWith([])));
  expect(printed).toHaveLength(SETUP_STEPS.length - 2);
  const known = COMMANDS.map(({ noun, verb }) => `${noun} ${verb} org-1`);
  expect(printed.filter((command) => !known.includes(command))).toEqual([]);
});

test('only open steps have a command, and those of the first call are there once', () => {
  const text = showSetup(setupWith(['plan', 'defaultPlan', 'key', ...OPTIONAL]));
  expect(commandsIn(text)).toEqual([]);
  expect(text.match(/\/call_begin/g)).toHaveLength(1);
  expect(text.match(/\/call_end/g)).toHaveLength(1);
});

test('a complete setup says so, and names only what is optional', () => {
  const text = showSetup(setupWith(SETUP_STEPS.filter((step) => !OPTIONAL.includes(step))));
  expect(text).toContain('The setup is complete.');
  expect(text).not.toContain('call_begin');
  expect(commandsIn(text)).toHaveLength(OPTIONAL.length);
});
