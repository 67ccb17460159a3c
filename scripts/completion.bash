# Completion of fa4's tools in bash: `source scripts/completion.bash`; in zsh,
# behind `autoload -U +X bashcompinit && bashcompinit`. Options come from the
# tools' own --help, and are kept for as long as the shell lives.
#
# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

declare -A _fa4_known

# Sets _fa4_list to the options of a tool, one a line, as --help spells them.
_fa4_options() {
  local tool=$1 spelled='s/^ *(-h, )?(--?[A-Za-z0-9][-A-Za-z0-9_]*=?).*/\2/p'
  if [[ -z ${_fa4_known[$tool]+set} ]]; then
    _fa4_known[$tool]=$("$tool" --help 2>/dev/null | sed -nE "$spelled" | sort -u)
  fi
  _fa4_list=${_fa4_known[$tool]}
}

# Sets _fa4_list to what may stand behind an option of a tool; empty: a file.
_fa4_values() {
  local tool=$1 option=${2#-}
  option=--${option#-}
  _fa4_list=
  case ${tool##*/}:$option in
    fa4-compile:--emit | fa4-compile:--from)
      _fa4_list=$("$tool" --help 2>/dev/null |
        sed -n '/^Levels:/,/^$/s/^  \([a-z0-9-]*\):.*/\1/p')
      [[ $option == --from ]] || _fa4_list+=$'\nllvm\nptx\ncubin'
      ;;
    fa4-compile:--chip) _fa4_list=$'sm_100a\nsm_103a' ;;
    fa4-sim:--policy) _fa4_list=$'random\neager\nlazy\npriority' ;;
    fa4-sim:--allow)
      _fa4_list=$("$tool" --allow=? x 2>&1 | sed -n 's/.*known: //p' | tr -d ' ' | tr , '\n')
      ;;
    fa4-opt:--help-fa4)
      _fa4_list=$("$tool" --help-fa4 2>/dev/null | sed -nE 's/^  --([a-z0-9-]+).*/\1/p')
      ;;
  esac
}

# bash splits words at `=`, so that a value is a word of its own there; zsh does
# not, and replaces the whole word.
_fa4_complete() {
  local tool=$1 current=${COMP_WORDS[COMP_CWORD]} option= done=
  if [[ $current == --*=* ]]; then
    option=${current%%=*}
    done=$option=
    current=${current#*=}
  elif [[ $current == = ]]; then
    option=${COMP_WORDS[COMP_CWORD - 1]} current=
  elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}
  elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == --* ]]; then
    option=${COMP_WORDS[COMP_CWORD - 1]}
  fi
  COMPREPLY=()
  if [[ -z $done && $current == -* ]]; then
    _fa4_options "$tool"
    # fa4-opt takes one dash and two, and lists two.
    [[ $current == --* ]] || _fa4_list=${_fa4_list//--/-}
  elif [[ -n $option ]]; then
    _fa4_values "$tool" "$option"
    # The last of a list with commas.
    if [[ $current == *,* ]]; then
      done+=${current%,*},
      current=${current##*,}
    fi
  else
    return
  fi
  # zsh has no mapfile. Without compopt, a space at the end of a completion says
  # that the word is complete.
  local IFS=$'\n' suffix=
  [[ -z ${ZSH_VERSION-} ]] || suffix=' '
  # shellcheck disable=SC2207
  COMPREPLY=($(compgen -P "$done" -W "$_fa4_list" -- "$current" |
    sed "/=\$/!s/\$/$suffix/"))
  if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]]; then
    compopt -o nospace 2>/dev/null
  fi
}

# Where nothing fits, the shell's own completion of file names goes on.
complete -o default ${ZSH_VERSION:+-o} ${ZSH_VERSION:+nospace} -F _fa4_complete \
  fa4-compile fa4-lsp-server fa4-mutate fa4-opt fa4-reduce fa4-sim
