import { from, renaming } from '../audit/shared/phrases.ts'
import type { ActionPhrases, EventSentences } from '../audit/shared/sentence-row.ts'

/** Sentences for the audit events of devices. */
export const deviceEvents = {
  devices_Created: {
    kind: 'device',
    say: entry =>
      entry.actor.actor === 'Device'
        ? `enrolled with the token {actor.tokenId}${from(entry)}`
        : 'registered the device {deviceId}',
  },
  devices_Deleted: { kind: 'device', say: 'deleted the device {deviceId}' },
  devices_Blocked: {
    kind: 'device',
    say: ({ data }) =>
      data.certificateCount === 0
        ? 'blocked the fingerprint of {deviceId}'
        : `blocked the fingerprint of {deviceId} and ${data.certificateCount === 1 ? 'its certificate' : '[certificateCount] certificates'}`,
  },
  projects_DeviceUnblocked: { kind: 'device', say: 'unblocked the device {deviceId}' },
  devices_NameChanged: {
    kind: 'device',
    say: ({ data, old }) => {
      if (data.name === undefined)
        return `removed the name ${old?.name === undefined ? '' : '[old.name] '}of {deviceId}`
      return old?.name === undefined
        ? 'named the device {deviceId:name}'
        : 'renamed [old.name] to {deviceId:name}'
    },
  },
  devices_PropertySet: { kind: 'property', say: 'set <propertyName> of {deviceId}' },
  devices_PropertyRemoved: { kind: 'property', say: 'removed <propertyName> of {deviceId}' },
  devices_IdentityShared: {
    kind: 'device',
    say: 'found machines that share the identity of {deviceId}: [takeovers] takeovers in 10 minutes',
  },
  devices_PortForwarded: {
    kind: 'device',
    say: entry =>
      entry.data.hostname === undefined
        ? `forwarded port [port] of {deviceId}${from(entry)}`
        : `opened the HTTP proxy to port [port] of {deviceId}${timeOf(entry.data.validForSecs)}${from(entry)}`,
  },
} as const satisfies EventSentences<'devices'>

/** Phrases for the logged actions on devices. */
export const deviceActions = {
  devices_Create: { kind: 'device', say: 'register a device in {projectId}' },
  devices_SetName: {
    kind: 'device',
    say: entry =>
      entry.data.name === undefined ? 'remove the name of {deviceId}' : renaming('device', 'deviceId')(entry),
  },
  devices_Delete: { kind: 'device', say: 'delete {deviceId}' },
  devices_Block: { kind: 'device', say: 'block {deviceId}' },
  projects_UnblockDevice: { kind: 'device', say: 'unblock a device of {projectId}' },
  devices_SetProperty: { kind: 'property', say: 'set <name> of {deviceId}' },
  devices_RemoveProperty: { kind: 'property', say: 'remove <name> of {deviceId}' },
  devices_PublishEvents: { kind: 'device', say: 'publish events of {deviceId}' },
  devices_IssueDeviceToken: { kind: 'token', say: 'issue a token for {deviceId}' },
  devices_IssueHttpProxyToken: { kind: 'device', say: 'open the HTTP proxy of {deviceId}' },
} as const satisfies ActionPhrases<'devices'>

/** Validity of a link in words: " for 2 hours". */
function timeOf(validForSecs: number | undefined): string {
  if (validForSecs === undefined) return ''
  const [unit, count] = UNITS.map(([name, secs]) => [name, validForSecs / secs] as const).find(([, many]) =>
    Number.isInteger(many),
  ) ?? ['second', validForSecs]
  return ` for ${count} ${unit}${count === 1 ? '' : 's'}`
}

const UNITS = [
  ['hour', 3600],
  ['minute', 60],
] as const
