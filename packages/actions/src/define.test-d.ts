// This file is only compiled. The line below each `ts-expect-error` comment must fail to compile; all other lines must compile.
import { z } from 'zod'
import { type Action, command, optional, query, secret, telemetry } from './define.ts'
import { DeploymentToken, DeviceFingerprint, DeviceId, ProjectId, UserToken } from './ids.ts'
import type { ActionInput, ActionName, ActionOutput, ParsedInput } from './registry.ts'

const Password = secret(z.string().min(8))
const base = { summary: 'Does something.', output: z.object({}) }

const input = z.object({
  deviceId: DeviceId,
  projectId: ProjectId,
  maybeDeviceId: optional(DeviceId),
  name: z.string(),
  password: Password,
  maybePassword: optional(Password),
  login: z.object({ password: Password }),
  logins: z.array(z.object({ password: optional(Password) })),
  token: DeploymentToken,
  maybeToken: optional(UserToken),
  fingerprint: DeviceFingerprint,
  flags: z.object({ autoAccept: z.boolean() }),
})

// `id` must name an input field that holds an id of the resource kind `on`.
query({ ...base, input, permission: { can: 'view', on: 'device', id: 'deviceId' } })
query({ ...base, input, permission: { can: 'view', on: 'project', id: 'projectId' } })
// @ts-expect-error a device is no project
query({ ...base, input, permission: { can: 'view', on: 'project', id: 'deviceId' } })
// @ts-expect-error a project is no device
query({ ...base, input, permission: { can: 'view', on: 'device', id: 'projectId' } })
// @ts-expect-error a plain string is no id
query({ ...base, input, permission: { can: 'view', on: 'device', id: 'name' } })
// @ts-expect-error an optional field may be absent, and then there is no resource to check
query({ ...base, input, permission: { can: 'view', on: 'device', id: 'maybeDeviceId' } })
// @ts-expect-error there is no such field
query({ ...base, input, permission: { can: 'view', on: 'device', id: 'device' } })
// @ts-expect-error there is no such resource
query({ ...base, input, permission: { can: 'view', on: 'gadget', id: 'deviceId' } })
// @ts-expect-error there is no such right
query({ ...base, input, permission: { can: 'possess', on: 'device', id: 'deviceId' } })
// @ts-expect-error `everyone` is no permission
query({ ...base, input, permission: 'everyone' })
// @ts-expect-error the permission is required
query({ ...base, input })

// Only input fields without a secret can be audited.
command({ ...base, input, permission: 'user', audit: ['deviceId', 'maybeDeviceId', 'name', 'flags'] })
telemetry({ ...base, input, permission: 'user', audit: ['deviceId'] })
// @ts-expect-error a secret
command({ ...base, input, permission: 'user', audit: ['password'] })
// @ts-expect-error an optional secret
command({ ...base, input, permission: 'user', audit: ['maybePassword'] })
// @ts-expect-error an object with a secret in it
command({ ...base, input, permission: 'user', audit: ['login'] })
// @ts-expect-error a list with secrets in it
command({ ...base, input, permission: 'user', audit: ['logins'] })
// @ts-expect-error a deployment token is a secret even without `secret()`
command({ ...base, input, permission: 'user', audit: ['token'] })
// @ts-expect-error a user token is a secret even without `secret()`
command({ ...base, input, permission: 'user', audit: ['maybeToken'] })
// @ts-expect-error the fingerprint of a device is a secret even without `secret()`
telemetry({ ...base, input, permission: 'user', audit: ['fingerprint'] })
// @ts-expect-error there is no such field
command({ ...base, input, permission: 'user', audit: ['deviceID'] })
// @ts-expect-error a command must list its audited fields
command({ ...base, input, permission: 'user' })
// @ts-expect-error a query is not audited
query({ ...base, input, permission: 'user', audit: ['deviceId'] })

// `ActionName` allows only the names of existing actions.
const someName: ActionName = 'devices_SetName'
// @ts-expect-error there is no such action
const noName: ActionName = 'devices_Rename'
const some = query({ ...base, input, permission: 'user' }) satisfies Action

// A caller sends an id as a plain string. The handler gets it as a branded id.
const sent: ActionInput<'devices_GetDetails'> = { deviceId: 'd_aRWXQ2NyrvUXu4yikTrQvY' }
declare const parsed: ParsedInput<'devices_GetDetails'>
const deviceId: z.output<typeof DeviceId> = parsed.deviceId
// @ts-expect-error a device id is no project id
const projectId: z.output<typeof ProjectId> = parsed.deviceId
// @ts-expect-error text that was not parsed is no device id
const unchecked: z.output<typeof DeviceId> = sent.deviceId

// The output type contains every `result`, so the compiler can check that a switch over it is complete.
declare const outcome: ActionOutput<'devices_SetProperty'>
const results: 'Set' | 'VersionConflict' | 'Deleted' = outcome.result
// @ts-expect-error `Deleted` is missing
const fewer: 'Set' | 'VersionConflict' = outcome.result

export type { deviceId, fewer, noName, projectId, results, some, someName, unchecked }
