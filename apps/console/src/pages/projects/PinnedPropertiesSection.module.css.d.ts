declare const styles: {
  readonly edited: string
  readonly moves: string
  readonly note: string
  readonly pins: string
}
export default styles
