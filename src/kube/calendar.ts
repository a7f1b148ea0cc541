/**
 * Whether there is such a day and such a time of day, as Go's time.Parse has it, with which Kubernetes reads times: no 30th
 * of February, no hour 24 and, though RFC 3339 writes it, no leap second 60.
 */

const DAYS = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const

/** `text` begins like `2026-01-02T03:04:05`, whatever its digits. */
export function isPossibleTime(text: string): boolean {
  if (text.charCodeAt(11) >= TWO && twoDigits(text, 11) > 23) return false
  if (text.charCodeAt(14) >= SIX || text.charCodeAt(17) >= SIX) return false
  const month = twoDigits(text, 5)
  const day = twoDigits(text, 8)
  if (day === 0 || month === 0 || month > 12) return false
  return day <= (DAYS[month] ?? 0) || (day === 29 && month === 2 && isLeapYear(Number(text.slice(0, 4))))
}

const ZERO = 0x30
const TWO = 0x32
const SIX = 0x36

function twoDigits(text: string, at: number): number {
  return (text.charCodeAt(at) - ZERO) * 10 + text.charCodeAt(at + 1) - ZERO
}

function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
}
