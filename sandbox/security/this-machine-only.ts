/** A website that resolves its own name to 127.0.0.1 (DNS rebinding) sends its own name in Host and is refused. */
import { isIP } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';

export interface AdminAccess {
  /** The address that is listened at; its name is accepted in Host beside those of loopback. */
  readonly host: string;
  readonly isOpen: boolean;
}

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'];

export function thisMachineOnly(access: AdminAccess) {
  const names = new Set([...LOOPBACK_NAMES, isIP(access.host) === 6 ? `[${access.host}]` : access.host]);
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (!access.isOpen && !isLoopback(request.ip)) {
      await refuse(reply, 'Only this machine may use the sandbox; --admin-open allows others.');
    } else if (!access.isOpen && !names.has(nameIn(request.headers.host))) {
      await refuse(reply, 'The request names another host than this machine.');
    }
  };
}

function isLoopback(address: string): boolean {
  const plain = address.replace(/^::ffff:/, '');
  return plain === '::1' || plain.startsWith('127.');
}

function nameIn(host: string | undefined): string {
  return (host ?? '').toLowerCase().replace(/:\d+$/, '');
}

function refuse(reply: FastifyReply, message: string): FastifyReply {
  return reply.code(403).send({ error: 'forbidden', error_description: message });
}
