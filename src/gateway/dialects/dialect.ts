/**
 * A dialect: everything that the gateway knows of one endpoint that runs a model. Each endpoint has one file here.
 *
 * Everything that endpoints share (customer, admission, attempts, metering, retries) is outside of this folder and asks
 * the dialect. To add an endpoint, see ../README.md.
 */
import type { z } from 'zod';
import type { DenialFigures } from '../../contract/denial.ts';
import type { CallFigures } from '../../contract/errors.ts';
import type { ModelOperation } from '../../contract/gateway/operations.ts';
import type { ModelRequest as ModelRequestSchema } from '../../contract/gateway/requests.ts';
import type { CountedUses } from '../../domain/unclear-usage.ts';
import type { VendorKind } from '../../domain/vendor-kind.ts';
import type { Effort } from '../../vendors/effort.ts';
import type { VendorRequest } from '../../vendors/request.ts';
import type { Transform } from '../../vendors/tee.ts';
import type { Fields } from '../../vendors/usage/figures.ts';
import type { VendorUsage } from '../../vendors/usage.ts';

/** The fields that every request to a model has; the schema of its endpoint has more. */
export type ModelRequest = z.infer<typeof ModelRequestSchema>;

/** The fields that a vendor is sent, as JSON or as a form. */
export type VendorBody = Record<string, unknown>;

/**
 * The form of an endpoint's answers if no events were asked for. `json`: a document that is held until it is complete.
 * `text`: the same, for any text. `large`: a document whose long texts may be too large to hold. `bytes`: anything,
 * passed while it arrives. `any`: any content, events in any form, and errors in the vendor's own form.
 */
export type AnswerForm = 'json' | 'text' | 'large' | 'bytes' | 'any';

/** The gateway's decisions for one attempt. */
export interface AttemptTerms {
  /** The vendor's name of the model. */
  model: string;
  /** `undefined` leaves the field out. */
  effort: Effort | undefined;
  /** The highest effort that the plan allows, for requests that ask for it in tokens; `undefined` is no ceiling. */
  ceiling: Effort | undefined;
  /** The most tokens that the model writes, if that is known. */
  outputTokensMax: number | undefined;
  /** Whether a stream is asked for its usage, with `stream_options`, if its caller did not ask for it. */
  addsUsage: boolean;
}

/** The address at which a vendor is asked. */
export interface VendorAddress {
  kind: VendorKind;
  /** With the version prefix. */
  baseUrl: string;
  /** The vendor's name of the model. */
  model: string;
}

/** The cost, in USD, of a stream's usage so far; `null` if it is not known. */
export type StreamCost = (usage: VendorUsage) => Promise<number | null>;

/** How a stream is ended before its vendor has ended it. */
export interface Stopped {
  /** The reason, as the service's code; it stands in the last event. */
  code: string;
  /** The usage of the stream, and the source of that figure; `null` if the caller is told nothing. */
  usage: { figures: VendorUsage; source: 'partial' | 'estimated'; costUsd: number | null } | null;
}

/** Follows one stream, so that it can be ended at any point. */
export interface StreamClosing {
  /** Notes an event that the caller gets, as the vendor sent it: parsed, and its text. */
  passed(event: Record<string, unknown>, data: string): void;
  /** The events, serialized, that end the stream as at the bound of its output. */
  close(stopped: Stopped): string;
}

/** An error before it gets the form of an endpoint. */
export interface ErrorWords {
  status: number;
  message: string;
  /** `undefined` for the usual word of the status. */
  type?: string | undefined;
  code: string | null;
  param: string | null;
  /** The members of a Callmeter refusal that have the same names in each form. */
  more?: RefusalFigures;
  /** What Google says besides, such as when to come back. */
  details?: readonly Fields[];
}

/**
 * The missing scope, the limit that the plan has for now, the component without a rate or a bound, and the amounts used
 * up or held.
 */
interface RefusalFigures extends DenialFigures {
  requiredScope?: string;
  reason?: string;
  component?: string;
  call?: CallFigures;
}

export type ErrorBody = (error: ErrorWords) => object;

/** How a vendor is asked, and how its answer becomes the caller's. */
export interface VendorForm<Operation extends ModelOperation = ModelOperation> {
  /** The end of the endpoint's path at its vendors; it identifies the field that bounds the output. */
  readonly endpoint: string;
  /** The method of the request to the vendor; POST if absent. */
  readonly method?: VendorRequest['method'];
  vendorUrl(address: VendorAddress, request: z.infer<Operation['body']>): string;
  /** The headers in which the vendor takes the key. */
  vendorHeaders(vendorKey: string): Record<string, string>;
  /** The body that the vendor gets, except the bound of the output. `request` no longer has Callmeter's own fields. */
  vendorBody(request: z.infer<Operation['body']>, terms: AttemptTerms): VendorBody;
  /**
   * For translated requests: the member that cannot be translated, and the reason, as the end of a sentence; `null` if
   * all can.
   */
  refused?(request: z.infer<Operation['body']>, terms: AttemptTerms): { param: string; message: string } | null;
  /** For translated answers: a whole answer in the caller's form; `null` if the document is not an answer. */
  answer?(document: unknown): object | null;
  /**
   * How the events of a stream change on their way to the caller; `undefined` if they pass byte for byte. `addsUsage`
   * is whether the vendor was asked to add the usage.
   */
  streamTransform(request: z.infer<Operation['body']>, cost: StreamCost, addsUsage: boolean): Transform | undefined;
  /** `json` if this is absent. */
  answerForm?(request: z.infer<Operation['body']>): AnswerForm;
  /** How a stream of the endpoint is ended early; `undefined` if it cannot be. */
  streamClosing(request: z.infer<Operation['body']>): StreamClosing | undefined;
}

export interface Dialect<Operation extends ModelOperation = ModelOperation> extends VendorForm<Operation> {
  /** The route with its schema. The schema has checked every request that the methods get. */
  readonly operation: Operation;
  /** Whether vendors of the kind offer the endpoint in this form. */
  isOfferedBy(kind: VendorKind): boolean;
  /** Whether a model of this name can be asked at the endpoint; any can if it is absent. */
  takesModel?(model: string): boolean;
  /** The path of Callmeter to use for the other vendors; `null` if there is none. */
  readonly alternative: string | null;
  /** The form for vendors whose kind has a better form of its own. */
  translatedFor?(kind: VendorKind): VendorForm<Operation> | undefined;
  /** The parts of a request that its address states. Only Google's routes name the model in the path. */
  addressed?(model: string, query: (name: string) => string | undefined): { model: string; stream?: boolean };
  /** Whether the endpoint takes session tokens; its fields say which of them a session may send. */
  readonly takesSessions?: true;
  readonly errorBody: ErrorBody;
  /** Distinguishes requests that have the same endpoint and body. */
  readonly address?: string;
  /** The user, in the vendor's own field. */
  userOf(request: z.infer<Operation['body']>): string | undefined;
  /** The reasoning effort that the request asks for. */
  effortAsked(request: z.infer<Operation['body']>): Effort | undefined;
  /** Whether a vendor of the kind keeps the answer under its id, with its figures; absent if none does. */
  isKept?(request: z.infer<Operation['body']>, kind: VendorKind): boolean;
  /** Whether the request disables thinking, whichever levels of effort its model has; absent if no request can. */
  thinksNot?(request: z.infer<Operation['body']>): boolean;
  /**
   * The uses of a whole answer that its vendor may not report, counted in the request and in the parsed answer
   * (`undefined` if that was not read). A vendor that reports nothing bills nothing else. Absent if nothing can be
   * counted.
   */
  counted?(request: z.infer<Operation['body']>, answer: unknown): CountedUses;
  /** The event that ends a stream that broke off; `last` is the last event before it, parsed. */
  streamError(error: ErrorWords, last: Readonly<Record<string, unknown>> | null): string;
}

/** Whether the answer may take as long to pass as its caller takes to read it. */
export function mayStream(form: Pick<VendorForm, 'answerForm'>, request: ModelRequest): boolean {
  return request.stream === true || hasUncountedOutput(form, request) || form.answerForm?.(request) === 'any';
}

/** Whether the output is pictures or sound, whose tokens Callmeter cannot count. */
export function hasUncountedOutput({ answerForm }: Pick<VendorForm, 'answerForm'>, request: ModelRequest): boolean {
  const form = answerForm?.(request);
  return form === 'large' || form === 'bytes';
}

/** The form in which vendors of the kind are asked. */
export function formAt(dialect: Dialect, kind: VendorKind): VendorForm {
  return dialect.translatedFor?.(kind) ?? dialect;
}
