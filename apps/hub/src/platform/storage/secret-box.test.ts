import { capturedLog, fakeS3, testHub } from '@muster/testkit'
import { expect, it } from 'vitest'
import { instanceKeyOf } from '../credentials/instance-key.ts'
import { GuardedHttpClient } from './guarded-http-client.ts'
import { ObjectStores } from './object-stores.ts'
import { SecretBox } from './secret-box.ts'

const OLD = 'a'.repeat(64)
const NEW = 'b'.repeat(64)

it('decrypts only an unchanged ciphertext of the same row', () => {
  const box = new SecretBox(instanceKeyOf(OLD))
  const sealed = box.seal('secret', 'row')
  expect(box.open(sealed, 'row')).toEqual({ text: 'secret', isOld: false })
  expect(box.open(sealed, 'other row')).toBeUndefined()
  expect(box.seal('secret', 'row')).not.toEqual(sealed)
  for (const at of [0, 20, sealed.length - 1]) {
    const changed = Buffer.from(sealed)
    changed[at]! ^= 1
    expect(box.open(changed, 'row')).toBeUndefined()
  }
  expect(box.open(sealed.subarray(0, 10), 'row')).toBeUndefined()
})

it('re-encrypts secrets with a new instance key only if the previous key is given', async () => {
  await using store = await fakeS3()
  await using hub = await testHub({ instanceKey: OLD, outboundAllow: ['127.0.0.1'] })
  const owner = await hub.user()
  const repositoryId = await hub.repository(owner, await hub.organization(owner))
  const { endpoint, bucket, accessKeyId, secretAccessKey } = store
  await owner.invoke('repositories_SetS3Config', {
    repositoryId,
    s3Config: { endpoint, bucket, accessKeyId, secretAccessKey },
  })
  const { store_id: storeId } = await hub.db
    .selectFrom('object_store')
    .select('store_id')
    .executeTakeFirstOrThrow()
  const storesWith = (key: string, previous?: string): ObjectStores =>
    new ObjectStores(
      new SecretBox(instanceKeyOf(key), previous === undefined ? undefined : instanceKeyOf(previous)),
      new GuardedHttpClient([]),
    )
  const captured = capturedLog()
  await storesWith(NEW).renewSecrets(hub.db, captured.log)
  expect(captured.named('the secret of an object storage cannot be read with the instance key')).toHaveLength(
    1,
  )
  await expect(storesWith(NEW).open(hub.db, storeId)).rejects.toThrow('set it again')

  await storesWith(NEW, OLD).renewSecrets(hub.db, captured.log)
  const renewed = (await storesWith(NEW).find(hub.db, storeId))!
  expect(storesWith(NEW).secretOf(renewed)).toBe(secretAccessKey)
  expect(storesWith(OLD).secretOf(renewed)).toBeUndefined()
  expect(JSON.stringify(captured.lines)).not.toContain(secretAccessKey)
})
