import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { mailedJwt, testHub, until } from '@muster/testkit'
import { hash as cheapHash } from '@node-rs/argon2'
import { afterAll, describe, expect, it } from 'vitest'
import { Passwords } from './passwords.ts'
import { hashSecret, matchesSecret } from './secrets.ts'

/** Hash of the password `x`, made with Argon2 parameters that are about a hundred times cheaper than the hub's. */
const CHEAP = await cheapHash('x', { memoryCost: 8, timeCost: 1 })

const passwords = new Passwords()
afterAll(() => passwords[Symbol.dispose]())

const unauthenticated = (password: string, count: number): Promise<boolean>[] =>
  Array.from({ length: count }, () => passwords.verifyUnauthenticated(password, CHEAP))

describe('a password', () => {
  it('is stored as Argon2id with a salt of its own', async () => {
    const [first, second] = await Promise.all([
      passwords.hash('correct horse'),
      passwords.hash('correct horse'),
    ])
    expect(first).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(first).not.toBe(second)
    expect(await passwords.verify('correct horse', first)).toBe(true)
    expect(await passwords.verify('correct horse ', first)).toBe(false)
    expect(await passwords.verify('Correct horse', first)).toBe(false)
  })

  it.each(['', 'a\0b', 'a\0', '漢字😀', 'x'.repeat(1024), '\ud800'])(
    'may be %j, and does not match with a character more',
    async password => {
      const hash = await passwords.hash(password)
      expect(await passwords.verify(password, hash)).toBe(true)
      expect(await passwords.verify(`${password}x`, hash)).toBe(false)
    },
  )

  it('does not match when no hash is stored', async () => {
    for (const stored of [null, undefined]) expect(await passwords.verify('', stored)).toBe(false)
  })

  it('S39: is refused when it is one of 3,000 common ones and more, in any letter case', async () => {
    for (const common of [
      'password',
      'PassWord123',
      'qwertyuiop',
      '1234567890',
      'iloveyou',
      'P@ssw0rd',
      'Admin123',
      // About the 3,000th of those that have 8 or more characters.
      '13101988',
      'aaaaaaaa',
    ]) {
      await expect(passwords.hash(common)).rejects.toMatchObject({
        kind: 'Invalid',
        message: 'This password is one of the most common ones: choose another.',
      })
    }
    for (const other of ['password of mine', 'passwords123', ' password']) {
      expect(await passwords.verify(other, await passwords.hash(other))).toBe(true)
    }
  })

  it('gets a new hash only when the stored one was made with weaker parameters', async () => {
    const strong = await passwords.hash('correct horse')
    expect(await passwords.strongerHash('correct horse', strong)).toBeUndefined()
    const weaker = [
      { memoryCost: 19 * 1024 - 8 },
      { timeCost: 1 },
      // Argon2i counts as weaker than Argon2id, whatever its parameters.
      { algorithm: 1, memoryCost: 64 * 1024, timeCost: 3 },
    ]
    for (const parameters of weaker) {
      const weak = await cheapHash('password', { memoryCost: 19 * 1024, timeCost: 2, ...parameters })
      const renewed = await passwords.strongerHash('password', weak)
      expect(renewed).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
      expect(await passwords.verify('password', renewed)).toBe(true)
    }
    expect(
      await passwords.strongerHash('x', await cheapHash('x', { memoryCost: 64 * 1024, timeCost: 3 })),
    ).toBeUndefined()
  })

  it('is refused when 34 others are pending, and the pending ones are answered', async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 50 }, () => passwords.verify('x', CHEAP)))
    const refused = outcomes.filter(outcome => outcome.status === 'rejected')
    expect(refused).toHaveLength(16)
    for (const { reason } of refused)
      expect(reason).toMatchObject({ kind: 'RateLimited', status: 429, retryAfterSecs: 1 })
    expect(outcomes.filter(outcome => outcome.status === 'fulfilled' && outcome.value)).toHaveLength(34)
    expect(await passwords.verify('x', CHEAP)).toBe(true)
  })

  it('of an unauthenticated client is refused when their queue is full, and the queued ones are answered', async () => {
    const outcomes = await Promise.allSettled(unauthenticated('x', 60))
    const refused = outcomes.filter(outcome => outcome.status === 'rejected')
    expect(refused.length).toBeGreaterThan(20)
    expect(refused.length).toBeLessThan(27)
    for (const { reason } of refused)
      expect(reason).toMatchObject({ kind: 'RateLimited', status: 429, retryAfterSecs: 1 })
    for (const outcome of outcomes) if (outcome.status === 'fulfilled') expect(outcome.value).toBe(true)
  })

  // The timeout is long because the pauses in a flood grow with the duration of a hash, which is long on a busy machine.
  it('of unauthenticated clients does not delay others in a flood', { timeout: 120_000 }, async () => {
    const flood = unauthenticated('wrong', 60)
    let answered = 0
    for (const one of flood)
      one.then(
        () => answered++,
        () => {},
      )
    await Promise.any(flood)
    await expect(Promise.all(unauthenticated('wrong', 8))).rejects.toMatchObject({ kind: 'RateLimited' })
    // Other callers are not delayed: while their password is verified, at most one more password of the flood is verified.
    const before = answered
    expect(await passwords.verify('x', CHEAP)).toBe(true)
    expect(answered).toBeLessThanOrEqual(before + 1)
    // After the first wrong password the limits are lowered. A few clients of the flood wait longer, and all others get
    // `RateLimited`.
    const outcomes = await Promise.allSettled(flood)
    expect(outcomes.filter(outcome => outcome.status === 'fulfilled').length).toBeLessThan(10)
  })

  it('can be verified again after the hashing process was killed', async () => {
    const hash = await passwords.hash('correct horse')
    const inFlight = passwords.verify('correct horse', hash)
    for (const pid of childrenCalled('passwords-process')) process.kill(pid, 'SIGKILL')
    // Node reports the exit of the process and the close of its channel in no fixed order, so the message varies.
    await expect(inFlight).rejects.toThrow(
      /^The process that hashes passwords ended: (SIGKILL|Channel closed|write EPIPE)$/,
    )
    expect(await passwords.verify('correct horse', hash)).toBe(true)
  })
})

// A core without a hash serves people and devices at once (docs/decisions.md, "Sign-in and sessions").
it('is hashed by one thread for each two cores, and at most two', async () => {
  await passwords.hash('correct horse')
  const [pid] = childrenCalled('passwords-process')
  const threads = /UV_THREADPOOL_SIZE=(\d+)/.exec(readFileSync(`/proc/${pid}/environ`, 'utf8'))?.[1]
  expect(Number(threads)).toBe(Math.min(2, Math.max(1, Math.floor(availableParallelism() / 2))))
})

// The timeout is long because hashing has low priority and takes long on a busy machine.
describe('passwords that wait to be hashed', { timeout: 90_000 }, () => {
  it('occupy no database connections', async () => {
    await using hub = await testHub()
    const ada = await hub.user()
    const grace = await hub.user()
    await hub.anonymous('users_ResetPassword', { email: grace.email })
    const resetToken = await mailedJwt(hub, 'PasswordReset', grace.email)
    const password = 'a staple of horses'
    const signUp = (number: number) =>
      hub.anonymous('users_Register', {
        email: `person${number}@test.example`,
        password,
        consentedToTerms: true,
      })
    await hub.services.passwords.hash(password)
    // Pauses the hashing process, as on a busy machine where hashing gets no CPU time.
    for (const pid of childrenCalled('passwords-process')) process.kill(pid, 'SIGSTOP')
    let calls: Promise<unknown>[]
    try {
      // Starts more calls than the pool has connections.
      calls = [
        ...Array.from({ length: 8 }, (_, number) => signUp(number)),
        ...Array.from({ length: 2 }, () => ada.invoke('users_SetPassword', { userId: ada.userId, password })),
        grace.invoke('users_ChangePassword', {
          userId: grace.userId,
          currentPassword: grace.password,
          newPassword: password,
        }),
        hub.anonymous('users_CompletePasswordReset', { resetToken, password }),
      ]
      await until('all are in flight', async () => {
        const { rows } = await hub.pool.query(`select from audit_action where status = 'Pending'`)
        return rows.length === calls.length
      })
      const displayName = 'Ada'
      expect(await ada.invoke('users_SetDisplayName', { userId: ada.userId, displayName })).toEqual({})
    } finally {
      for (const pid of childrenCalled('passwords-process')) process.kill(pid, 'SIGCONT')
    }
    const outcomes = await Promise.allSettled(calls)
    expect(outcomes.slice(0, 10).map(({ status }) => status)).toEqual(Array(10).fill('fulfilled'))
  })
})

function childrenCalled(name: string): number[] {
  const isChild = (pid: string): boolean => {
    try {
      const parent = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')[1]
      return Number(parent) === process.pid && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(name)
    } catch {
      return false // The process ended after the folder was listed, or the entry is no process.
    }
  }
  return readdirSync('/proc').filter(isChild).map(Number)
}

it('compares secrets as a whole, whatever their length', () => {
  const hash = hashSecret('secret')
  expect(matchesSecret('secret', hash)).toBe(true)
  for (const other of ['', 'Secret', 'secret ', 'secre']) expect(matchesSecret(other, hash)).toBe(false)
})
