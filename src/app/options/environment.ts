/** Environment variables, as whoever starts the program hands them over: no option reads `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>
