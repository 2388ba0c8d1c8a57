declare const styles: {
  readonly name: string
}
export default styles
