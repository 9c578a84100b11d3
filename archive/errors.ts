import { EXIT, errorClass } from '../lib/wire/errors.ts';

export class ArchiveError extends errorClass({
  /** Nothing is written meanwhile: it would be hidden once the volume is mounted again. */
  'archive-away': {
    message: 'The folder holds no archive any more',
    exitCode: EXIT.unreachable,
    reaction: 'retry',
    hint: 'mount its volume again',
  },
  'archived-file-damaged': {
    message: "The archive's file %s is damaged: its bytes have the hash %s.",
    exitCode: EXIT.rejected,
    reaction: 'retry',
    hint: '`billsync import FILE` puts the file there again',
  },
  's3-settings': { message: '%s', exitCode: EXIT.usage, reaction: 'retry' },
  's3-refused': { message: '%s', exitCode: EXIT.refused, reaction: 'retry' },
  's3-unreachable': { message: '%s', exitCode: EXIT.unreachable, reaction: 'retry' },
}) {}
