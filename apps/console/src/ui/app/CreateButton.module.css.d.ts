declare const styles: {
  readonly label: string
}
export default styles
