/** Every way to tell a person besides the log. A new one is a file here and its line in this list. */

import type { AlertChannel, ChannelOptions, OpenChannel } from './channel.js';
import { chat } from './chat.js';
import { file } from './file.js';
import { teams } from './teams.js';

const CHANNELS: readonly OpenChannel[] = [file, chat, teams];

/** Those that the settings ask for. */
export function openChannels(options: ChannelOptions): readonly AlertChannel[] {
  return CHANNELS.flatMap((open) => open(options) ?? []);
}
