/**
 * The gateway's answers: a vendor's answer on its way back, or an error (error-envelope.ts).
 */

export interface GatewayAnswer {
  status: number;
  headers: Record<string, string>;
  body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
}

/** An answer that is not a stream. */
export interface WholeAnswer extends GatewayAnswer {
  body: string;
}
