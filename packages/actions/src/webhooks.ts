import { z } from 'zod'
import { command, optional, optionalText, query } from './define.ts'
import { MessageId, OrganizationId, ProjectId } from './ids.ts'
import { MAX_EVENT_TYPES, MAX_FEED_PAGE, MAX_FEED_WAIT_SECS } from './limits.ts'
import { Empty, Timestamp, text } from './scalars.ts'

/** Name of a type of messages, or all types of an area: `devices.Created`, `devices.*`. */
const EventType = text(128).regex(
  /^[a-z]+\.([A-Za-z0-9]+|\*)$/,
  'expected a type of messages such as devices.Created, or all of an area such as devices.*',
)
const EventTypes = z.array(EventType).min(1).max(MAX_EVENT_TYPES)

const Message = z.object({
  messageId: MessageId.describe('The same for each delivery of the message.'),
  type: z.string().describe('Name of an audit event with a dot: `devices.Created`.'),
  timestamp: Timestamp,
  position: z.int().describe('Number of the message in its organization.'),
  data: z.record(z.string(), z.unknown()).describe('The audit event, without address and browser.'),
})

/** The feed of events of an organization. */
export const webhooks = {
  events_Query: query({
    summary: 'Events of an organization, oldest first, for programs that follow them; may wait for the next.',
    input: z.object({
      organizationId: OrganizationId,
      projectId: optional(ProjectId).describe('Only events of this project.'),
      after: optionalText(text(128)).describe('`cursor` of the previous answer.'),
      from: optional(z.enum(['Oldest', 'Now'])).describe(
        'Where to begin without `after`: at the oldest event that is kept, which is the default, or after the newest.',
      ),
      types: optional(EventTypes).describe(
        'Only events of these types, such as `devices.Created` or `devices.*`.',
      ),
      limit: optional(z.int().min(1).max(MAX_FEED_PAGE)).describe(
        'Maximum number of events; 100 by default.',
      ),
      waitSecs: optional(z.int().min(0).max(MAX_FEED_WAIT_SECS)).describe(
        'How long to wait for an event if there is none; 0 by default.',
      ),
    }),
    output: z.object({
      events: z.array(
        Message.extend({ cursor: z.string().describe('Pass as `after` to go on after this event.') }),
      ),
      cursor: z.string().describe('Pass as `after` for the events that follow.'),
    }),
    permission: { can: 'view', on: 'organization', id: 'organizationId' },
  }),
  events_GetFeed: query({
    summary: 'Whether the feed of events of an organization is on.',
    input: z.object({ organizationId: OrganizationId }),
    output: z.object({ isOn: z.boolean() }),
    permission: { can: 'view', on: 'organization', id: 'organizationId' },
  }),
  events_SetFeed: command({
    summary: 'Turns the feed of events of an organization on or off.',
    input: z.object({ organizationId: OrganizationId, isOn: z.boolean() }),
    output: Empty,
    permission: { can: 'webhook.manage', on: 'organization', id: 'organizationId' },
    audit: ['organizationId', 'isOn'],
  }),
}
