import { EXIT, errorClass } from '../lib/errors.ts';

export class ArchiveError extends errorClass({
  /** Nothing is written while the volume is away, because it would be hidden once the volume is mounted again. */
  'archive-away': {
    message: 'The archive is no longer in its folder',
    exitCode: EXIT.unreachable,
    reaction: 'retry',
    hint: "mount the archive's volume again",
  },
  'archived-file-damaged': {
    message: "The archive's file %s is damaged: its bytes have the hash %s.",
    exitCode: EXIT.rejected,
    reaction: 'retry',
    hint: '`billsync import FILE` puts the file there again',
  },
  'other-layout': {
    message: 'These are the records of an archive in %s, which cannot be read as one in %s',
    exitCode: EXIT.usage,
    reaction: 'fatal',
    hint: 'copy an archive with `billsync archive copy TO`, not with a tool for files; BILLSYNC_ARCHIVE names the old one meanwhile',
  },
  'other-archive': {
    message: 'The target has records that this archive lacks (%s), so it is no copy of it',
    exitCode: EXIT.rejected,
    reaction: 'fatal',
    hint: 'name an empty folder or prefix, or the archive of which the other one is a copy',
  },
  's3-settings': { message: '%s', exitCode: EXIT.usage, reaction: 'retry' },
  's3-refused': { message: '%s', exitCode: EXIT.refused, reaction: 'retry' },
  's3-unreachable': { message: '%s', exitCode: EXIT.unreachable, reaction: 'retry' },
}) {}
