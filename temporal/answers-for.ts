/**
 * Asks a Temporal server whether it answers, by the one gRPC call written out: who only looks after a server needs no client, and loading
 * that takes longer, and more memory, than the rest of `up` together (ADR 47).
 */

import { connect } from 'node:http2';

const ANSWERS_WITHIN_MS = 3_000;
const DESCRIBE_NAMESPACE = '/temporal.api.workflowservice.v1.WorkflowService/DescribeNamespace';

/** @param address `host:port`, without TLS; @returns false for whatever else listens there, and for silence */
export function answersFor(
  address: string,
  namespace: string,
  withinMs = ANSWERS_WITHIN_MS,
): Promise<boolean> {
  return new Promise((resolve) => {
    const session = connect(`http://${address}`);
    const end = (isAnswered: boolean): void => {
      clearTimeout(late);
      resolve(isAnswered);
      session.destroy();
    };
    const late = setTimeout(end, withinMs, false);
    session.on('error', () => end(false));
    session.on('close', () => end(false));
    const call = session.request({
      ':method': 'POST',
      ':path': DESCRIBE_NAMESPACE,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    const told = (headers: { readonly [name: string]: unknown }): void => {
      // A refusal has its status in the only headers there are.
      if (headers['grpc-status'] !== undefined) end(headers['grpc-status'] === '0');
    };
    call.on('error', () => end(false));
    call.on('response', told);
    call.on('trailers', told);
    call.resume();
    call.end(describeNamespace(namespace));
  });
}

/** gRPC's frame (not compressed, length) around a message whose field 1 is the namespace, as protobuf writes text of up to 127 bytes. */
function describeNamespace(namespace: string): Buffer {
  const name = Buffer.from(namespace);
  const message = Buffer.concat([Buffer.from([0x0a, name.length]), name]);
  const frame = Buffer.alloc(5);
  frame.writeUInt32BE(message.length, 1);
  return Buffer.concat([frame, message]);
}
