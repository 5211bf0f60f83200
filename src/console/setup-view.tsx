/**
 * The checklist of a new organization: each step with its purpose and a link to its page; and the commands of the first
 * call.
 */

import type { FC } from 'hono/jsx';
import { firstCallCommands, KEY_PLACEHOLDER } from '../contract/first-call.ts';
import type { OrganizationSetup } from '../contract/operator.ts';
import type { OrganizationId } from '../domain/ids.ts';
import { ButtonForm, type FormSecrets } from '../ui/form.tsx';
import { Badge, Card, Code, Notice } from '../ui/parts.tsx';
import { callPath, organizationPath } from './context.ts';
import { CopyButton, Live } from './live.tsx';

type Step = OrganizationSetup['steps'][number]['step'];

/** The name of a step, and the page of the organization for it. */
const STEPS: Readonly<Record<Step, readonly [title: string, page: string | null]>> = {
  plan: ['Create a plan', 'new-plan'],
  defaultPlan: ['Set the default plan', 'settings'],
  key: ['Create an API key', 'keys/new'],
  vendor: ['Add a vendor key', 'vendors'],
  models: ['Map models', 'models'],
  webhook: ['Register a webhook', 'new-webhook'],
  call: ['First call received', null],
  cost: ['First call ended with a cost', null],
};

const stepTitle = (step: Step) => STEPS[step][0];

export const setupPath = (organizationId: OrganizationId, ...rest: string[]) =>
  organizationPath(organizationId, 'setup', ...rest);

interface ChecklistProps {
  organizationId: OrganizationId;
  setup: OrganizationSetup;
  /** The address of this server, for the commands. */
  origin: string;
}

/** The checklist, which updates itself until the setup is complete. */
export const Checklist: FC<ChecklistProps> = ({ organizationId, setup, origin }) => (
  <Live
    id="setup"
    on={!setup.complete}
    says={progressText(setup)}
    gone="The setup is complete: the first call has come, and its cost is known."
  >
    {setup.complete && (
      <Notice tone="good" title="The setup is complete.">
        Calls of this organization are metered and priced.
      </Notice>
    )}
    <Card title="Setup" note={setup.complete ? undefined : progressText(setup)}>
      <ol class="steps">
        {setup.steps.map((step) => (
          <StepItem step={step} organizationId={organizationId} />
        ))}
      </ol>
      <LastCall organizationId={organizationId} setup={setup} />
    </Card>
    {!setup.complete && <FirstCall origin={origin} apiKey={KEY_PLACEHOLDER} />}
  </Live>
);

function progressText({ steps, complete }: OrganizationSetup): string {
  if (complete) return 'The setup is complete';
  const required = steps.filter(({ optional }) => !optional);
  const open = required.filter(({ done }) => !done);
  const next = open[0];
  return `${required.length - open.length} of ${required.length} steps done${next ? `. Next: ${stepTitle(next.step)}` : ''}`;
}

const StepItem: FC<{ step: OrganizationSetup['steps'][number]; organizationId: OrganizationId }> = ({
  step: { step, purpose, done, optional },
  organizationId,
}) => {
  const [title, page] = STEPS[step];
  return (
    <li id={`step-${step}`}>
      <Badge tone={done ? 'good' : optional ? 'plain' : 'warn'}>
        {done ? 'done' : optional ? 'optional' : 'to do'}
      </Badge>
      <span>
        {page === null ? <strong>{title}</strong> : <a href={`${organizationPath(organizationId)}/${page}`}>{title}</a>}
        <span class="quiet"> {purpose}</span>
      </span>
    </li>
  );
};

/** The reason why the last step is open although there was a call. */
const LastCall: FC<{ organizationId: OrganizationId; setup: OrganizationSetup }> = ({ organizationId, setup }) => {
  const { lastCall, complete } = setup;
  if (lastCall === null || complete) return null;
  const call = <a href={callPath(organizationId, lastCall.callId)}>newest call</a>;
  switch (lastCall.status) {
    case 'IN_PROGRESS':
      return (
        <Notice tone="info">
          The {call} is in progress: end it with <Code>call_end</Code>.
        </Notice>
      );
    case 'NOT_ALLOWED':
      return (
        <Notice tone="warn">
          The {call} was denied: see what the plan of its customer includes, then make another.
        </Notice>
      );
    case 'COMPLETED':
    case 'FAILED':
    case 'TIMEOUT':
      return (
        <Notice tone="warn">
          The {call} ended without a known cost: report its model and its usage with <Code>call_end</Code>.
        </Notice>
      );
  }
};

/** The commands of the first call. With a new key they can be pasted unchanged. */
export const FirstCall: FC<{ origin: string; apiKey: string }> = ({ origin, apiKey }) => (
  <Card
    title="Make the first call"
    note={
      apiKey === KEY_PLACEHOLDER
        ? `Paste it into a shell, with your key in place of ${KEY_PLACEHOLDER}. It begins a call and ends it with its usage.`
        : 'Paste it into a shell. It begins a call and ends it with its usage.'
    }
    actions={<CopyButton of="first-call">Copy</CopyButton>}
  >
    <pre class="json" id="first-call">
      {firstCallCommands(origin, apiKey)}
    </pre>
  </Card>
);

/** Hides the checklist on the overviews in this browser, or shows it again. */
export const Hiding: FC<{ organizationId: OrganizationId; hidden: boolean; secrets: FormSecrets }> = ({
  organizationId,
  hidden,
  secrets,
}) => (
  <ButtonForm action={setupPath(organizationId, hidden ? 'show' : 'hide')} secrets={secrets}>
    {hidden ? 'Show on the overview' : 'Hide on the overview'}
  </ButtonForm>
);

/** An organization's setup as a line of a list. */
export const SetupLine: FC<{ organizationId: OrganizationId; name: string; setup: OrganizationSetup }> = ({
  organizationId,
  name,
  setup,
}) => (
  <li>
    <a href={setupPath(organizationId)}>{name}</a>
    <span class="quiet">: {progressText(setup)}</span>
  </li>
);
