/** Every way to tell a person besides the log. A new one is a file here and its line in this list. */

import type { AlertChannel, ChannelOptions, OpenChannel } from './channel.ts';
import { chat } from './chat.ts';
import { file } from './file.ts';
import { teams } from './teams.ts';

const CHANNELS: readonly OpenChannel[] = [file, chat, teams];

/** Those that the settings ask for. */
export function openChannels(options: ChannelOptions): readonly AlertChannel[] {
  return CHANNELS.flatMap((open) => open(options) ?? []);
}
