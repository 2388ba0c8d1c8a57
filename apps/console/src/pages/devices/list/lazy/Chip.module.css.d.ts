declare const styles: {
  readonly chips: string
  readonly remove: string
  readonly words: string
}
export default styles
