import { describe, expect, it } from 'vitest'
import {
  counted,
  formatBytes,
  formatCount,
  formatDuration,
  formatMs,
  formatPercent,
  formatShare,
  howOften,
  ordinal,
} from './format.ts'

describe('formatBytes', () => {
  it.each([
    [0, '0 B'],
    [1, '1 B'],
    [1023, '1023 B'],
    [1024, '1.0 KiB'],
    [1536, '1.5 KiB'],
    [1024 ** 2 - 1, '1.0 MiB'],
    [1024 ** 2, '1.0 MiB'],
    [255 * 1024 ** 2, '255.0 MiB'],
    [1024 ** 3, '1.0 GiB'],
    [4.4 * 1024 ** 3, '4.4 GiB'],
    [8_232_652_800, '7.7 GiB'],
    [1024 ** 4, '1024.0 GiB'],
    [3 * 1024 ** 5, '3145728.0 GiB'],
  ])('%d bytes as %s', (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text)
  })

  it('shows negative numbers as zero', () => {
    expect(formatBytes(-5)).toBe('0 B')
  })
})

describe('formatDuration', () => {
  it.each([
    [0, '0 s'],
    [95, '95 s'],
    [119.9, '119 s'],
    [120, '2 min'],
    [3599, '59 min'],
    [3600, '1 h 0 min'],
    [86_399, '23 h 59 min'],
    [86_400, '1 d 0 h 0 min'],
    [3 * 86_400 + 4 * 3600 + 12 * 60, '3 d 4 h 12 min'],
    [400 * 86_400, '400 d 0 h 0 min'],
  ])('%d seconds as %s', (secs, text) => {
    expect(formatDuration(secs)).toBe(text)
  })

  it('shows negative numbers as zero', () => {
    expect(formatDuration(-1)).toBe('0 s')
  })
})

it('C32: writes minutes as "min" in every duration, and once for one time', () => {
  expect([120, 7_440].map(formatDuration)).toEqual(['2 min', '2 h 4 min'])
  expect([82_000, 1_500_000, 7_440_000].map(formatMs)).toEqual(['1 min 22 s', '25 min', '2 h 4 min'])
  expect([1, 6].map(howOften)).toEqual(['once', '6 times'])
})

describe('formatPercent', () => {
  it.each([
    [0, '0 %'],
    [0.126, '13 %'],
    [0.61, '61 %'],
    [1, '100 %'],
    [1.2, '100 %'],
    [-0.2, '0 %'],
  ])('%d as %s', (share, text) => {
    expect(formatPercent(share)).toBe(text)
  })
})

describe('formatShare', () => {
  it.each([
    [0, '0 %'],
    [0.5, '50.0 %'],
    [0.952, '95.2 %'],
    [0.9999, '99.9 %'],
    [1, '100 %'],
  ])('%d as %s', (share, text) => {
    expect(formatShare(share)).toBe(text)
  })
})

describe('formatCount', () => {
  it('groups thousands', () => {
    expect(formatCount(42)).toBe('42')
    expect(formatCount(10_000)).toBe('10,000')
  })
})

describe('counted', () => {
  it('uses the singular for one only', () => {
    const counts = [0, 1, 1_000].map(count => counted(count, 'device'))
    expect(counts).toEqual(['0 devices', '1 device', '1,000 devices'])
  })
})

describe('ordinal', () => {
  it.each([
    [1, '1st'],
    [2, '2nd'],
    [3, '3rd'],
    [9, '9th'],
    [11, '11th'],
    [12, '12th'],
    [13, '13th'],
    [22, '22nd'],
    [1013, '1,013th'],
  ])('%d as %s', (place, text) => {
    expect(ordinal(place)).toBe(text)
  })
})
