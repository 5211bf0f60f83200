/**
 * A dialect: everything that the gateway knows of one endpoint that runs a model. Each endpoint has one file here.
 *
 * What every endpoint has in common (customer, admission, attempts, metering, retries) is outside of this folder and
 * asks the dialect. To add an endpoint, see ../README.md.
 */
import type { z } from 'zod';
import type { DenialFigures } from '../../contract/denial.ts';
import type { ModelOperation } from '../../contract/gateway/operations.ts';
import type { ModelRequest as ModelRequestSchema } from '../../contract/gateway/requests.ts';
import type { CountedUses } from '../../domain/unclear-usage.ts';
import type { VendorKind } from '../../domain/vendor-kind.ts';
import type { Effort } from '../../vendors/effort.ts';
import type { VendorRequest } from '../../vendors/request.ts';
import type { Transform } from '../../vendors/tee.ts';
import type { Fields } from '../../vendors/usage/figures.ts';
import type { VendorUsage } from '../../vendors/usage.ts';

/** What every request to a model has; the schema of its endpoint has more. */
export type ModelRequest = z.infer<typeof ModelRequestSchema>;

/** The fields that a vendor is sent, as JSON or as a form. */
export type VendorBody = Record<string, unknown>;

/**
 * How the answers of an endpoint come, where no events were asked for. `json`: a document that is held until it is whole.
 * `text`: the same, of any text. `large`: a document whose long texts may be more than can be held. `bytes`: anything,
 * passed as it comes. `any`: whatever it is, events in any form and errors in the vendor's own form too.
 */
export type AnswerForm = 'json' | 'text' | 'large' | 'bytes' | 'any';

/** What the gateway decided for one attempt. */
export interface AttemptTerms {
  /** As the vendor calls it. */
  model: string;
  /** `undefined` leaves the field out. */
  effort: Effort | undefined;
  /** The highest effort that the plan allows, for requests that ask for it in tokens; `undefined` is no ceiling. */
  ceiling: Effort | undefined;
  /** The most that the model writes, where that is known. */
  outputTokensMax: number | undefined;
  /** Whether a stream is asked for its usage where its caller did not ask for it, with `stream_options`. */
  addsUsage: boolean;
}

/** Where a vendor is asked. */
export interface VendorAddress {
  kind: VendorKind;
  /** With the version prefix. */
  baseUrl: string;
  /** As the vendor calls it. */
  model: string;
}

/** The cost, in USD, of what a stream has used so far; `null` where it is not known. */
export type StreamCost = (usage: VendorUsage) => Promise<number | null>;

/** How a stream is ended before its vendor has ended it. */
export interface Stopped {
  /** Why, in the service's word; it stands in the last event. */
  code: string;
  /** What the stream used, and where that figure is from; `null` where the caller is told nothing. */
  usage: { figures: VendorUsage; source: 'partial' | 'estimated'; costUsd: number | null } | null;
}

/** Follows one stream, so that it can be ended wherever it is. */
export interface StreamClosing {
  /** Takes note of an event that the caller gets, as the vendor sent it: parsed, and its text. */
  passed(event: Record<string, unknown>, data: string): void;
  /** The events, serialized, with which the stream ends as it would at the bound of its output. */
  close(stopped: Stopped): string;
}

/** An error before it is written in the form of an endpoint. */
export interface ErrorWords {
  status: number;
  message: string;
  /** `undefined` for the usual word for the status. */
  type?: string | undefined;
  code: string | null;
  param: string | null;
  /** The members of our refusal that have the same names in each form. */
  more?: RefusalFigures;
  /** What Google says besides, such as when to come back. */
  details?: readonly Fields[];
}

/** The scope that is lacking, the limit that the plan has for now, what has no rate or no bound, what is used up or held. */
interface RefusalFigures extends DenialFigures {
  requiredScope?: string;
  reason?: string;
  component?: string;
}

export type ErrorBody = (error: ErrorWords) => object;

/** How a vendor is asked, and how what it answers becomes what the caller gets. */
export interface VendorForm<Operation extends ModelOperation = ModelOperation> {
  /** How paths of the endpoint end at its vendors; tells what bounds the output. */
  readonly endpoint: string;
  /** Of the request to the vendor; POST where it is absent. */
  readonly method?: VendorRequest['method'];
  vendorUrl(address: VendorAddress, request: z.infer<Operation['body']>): string;
  /** The headers with which the vendor takes the key. */
  vendorHeaders(vendorKey: string): Record<string, string>;
  /** What the vendor is sent, but for the bound of the output. `request` has none of the service's own fields any more. */
  vendorBody(request: z.infer<Operation['body']>, terms: AttemptTerms): VendorBody;
  /** Where requests are translated: the member that cannot be, and why, as the end of a sentence; `null` if all can. */
  refused?(request: z.infer<Operation['body']>, terms: AttemptTerms): { param: string; message: string } | null;
  /** Where answers are translated: a whole answer in the caller's form; `null` if it is none. */
  answer?(document: unknown): object | null;
  /**
   * How the events of a stream change on their way to the caller; `undefined` where they pass byte for byte.
   * `addsUsage` says what the vendor was asked.
   */
  streamTransform(request: z.infer<Operation['body']>, cost: StreamCost, addsUsage: boolean): Transform | undefined;
  /** `json` where this is absent. */
  answerForm?(request: z.infer<Operation['body']>): AnswerForm;
  /** How a stream of the endpoint is ended early; `undefined` where it cannot be. */
  streamClosing(request: z.infer<Operation['body']>): StreamClosing | undefined;
}

export interface Dialect<Operation extends ModelOperation = ModelOperation> extends VendorForm<Operation> {
  /** The route with its schema, which has checked every request that the methods get. */
  readonly operation: Operation;
  /** Whether vendors of the kind offer the endpoint in this form. */
  isOfferedBy(kind: VendorKind): boolean;
  /** Whether a model of this name can be asked at the endpoint; any can if it is absent. */
  takesModel?(model: string): boolean;
  /** The path of ours to use for the other vendors; `null` where there is none. */
  readonly alternative: string | null;
  /** The form in which vendors of a kind are asked that have a better one of their own. */
  translatedFor?(kind: VendorKind): VendorForm<Operation> | undefined;
  /** What the address of a request says of it. Only Google's routes name the model in the path. */
  addressed?(model: string, query: (name: string) => string | undefined): { model: string; stream?: boolean };
  /** Whether the endpoint takes session tokens; its fields say what a session may send. */
  readonly takesSessions?: true;
  readonly errorBody: ErrorBody;
  /** What makes requests different that have the same endpoint and body. */
  readonly address?: string;
  /** Who the user is, in the vendor's own field. */
  userOf(request: z.infer<Operation['body']>): string | undefined;
  /** The reasoning effort that the request asks for. */
  effortAsked(request: z.infer<Operation['body']>): Effort | undefined;
  /** Whether a vendor of the kind keeps the answer under its id, with its figures; absent if none does. */
  isKept?(request: z.infer<Operation['body']>, kind: VendorKind): boolean;
  /** Whether the request switches thinking off, whichever levels of effort its model has; absent where none can. */
  thinksNot?(request: z.infer<Operation['body']>): boolean;
  /**
   * What a whole answer used that its vendor may not report, counted in the request and in the parsed answer (`undefined`
   * where that was not read). Nothing else is billed by a vendor that reports nothing; absent where nothing is known then.
   */
  counted?(request: z.infer<Operation['body']>, answer: unknown): CountedUses;
  /** The event with which a stream ends that broke off; `last` is the last event before it, parsed. */
  streamError(error: ErrorWords, last: Readonly<Record<string, unknown>> | null): string;
}

/** Whether the answer may take as long to pass as its caller takes to read it. */
export function mayStream(form: Pick<VendorForm, 'answerForm'>, request: ModelRequest): boolean {
  return request.stream === true || hasUncountedOutput(form, request) || form.answerForm?.(request) === 'any';
}

/** Whether the output is pictures or sound, whose tokens cannot be counted here. */
export function hasUncountedOutput({ answerForm }: Pick<VendorForm, 'answerForm'>, request: ModelRequest): boolean {
  const form = answerForm?.(request);
  return form === 'large' || form === 'bytes';
}

/** The form in which vendors of the kind are asked. */
export function formAt(dialect: Dialect, kind: VendorKind): VendorForm {
  return dialect.translatedFor?.(kind) ?? dialect;
}
