# Device code as bytes inside a library: PTX that serves every device, and machine code for some.
# Without nvcc an image is empty.

# A driver takes PTX up to the version of its own CUDA, whatever the PTX contains: nvcc 13 writes 9.0,
# which drivers before 580 refuse. The kernels need nothing that 7.7 (CUDA 11.7) lacks: ptxas refuses
# what is newer than the version that it reads. No device before sm_75 has the memory model and enough
# registers, and nvcc 13 knows none.
set(RONDO_PTX_VERSION 7.7)
set(RONDO_PTX_DEVICE 75)
set(RONDO_IMAGE_OPTIONS -std=c++20 -O3 --fmad=false --expt-relaxed-constexpr)

# rondo_device_image(TARGET FUNCTION SOURCE): adds `DeviceImage rondo::FUNCTION()` of SOURCE to TARGET
# (kernels/cuda/image.h). The global property RONDO_DEVICE_CODE lists the files of all images.
function(rondo_device_image target function source)
  cmake_path(GET source STEM stem)
  set(stem ${CMAKE_CURRENT_BINARY_DIR}/${stem})
  set(RONDO_IMAGE_BYTES "")   # for configure_file(), like the next two
  set(RONDO_IMAGE_CODES "")
  set(RONDO_IMAGE_PTX nullptr)
  set(files "")
  get_target_property(with_cuda rondo_cuda RONDO_WITH_CUDA)
  if(with_cuda)
    list(APPEND files ${stem}.ptx)
    set(RONDO_IMAGE_PTX rondo_${function}_ptx)
    string(APPEND RONDO_IMAGE_BYTES "RONDO_BYTES(rondo_${function}_ptx, \"${stem}.ptx\")\n")
    rondo_ptx(${source} ${stem}.ptx)
    get_property(numbers GLOBAL PROPERTY RONDO_MACHINE_CODE)
    foreach(sm ${numbers})
      list(APPEND files ${stem}.sm_${sm}.cubin)
      set(symbol rondo_${function}_sm_${sm})
      string(APPEND RONDO_IMAGE_BYTES "RONDO_BYTES(${symbol}, \"${stem}.sm_${sm}.cubin\")\n")
      string(APPEND RONDO_IMAGE_CODES "{${sm}, {${symbol}, ${symbol}_end}}, ")
      rondo_assemble(${sm} ${stem}.ptx ${stem}.sm_${sm}.cubin)
    endforeach()
    set_property(GLOBAL APPEND PROPERTY RONDO_DEVICE_CODE ${files})
  endif()
  set(RONDO_IMAGE_FUNCTION ${function})
  configure_file(${PROJECT_SOURCE_DIR}/kernels/cuda/bytes.cc.in ${stem}.cc @ONLY)
  target_sources(${target} PRIVATE ${stem}.cc ${files})
  set_source_files_properties(${stem}.cc PROPERTIES OBJECT_DEPENDS "${files}"
    SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# PTX of SOURCE. Sanitizers run the kernels on the host: minutes of nvcc would serve nobody there.
function(rondo_ptx source ptx)
  if(RONDO_SANITIZE)
    file(GENERATE OUTPUT ${ptx}
      CONTENT ".version ${RONDO_PTX_VERSION}\n.target sm_${RONDO_PTX_DEVICE}\n.address_size 64\n")
    return()
  endif()
  add_custom_command(OUTPUT ${ptx}
    COMMAND ${CMAKE_CUDA_COMPILER} -ptx -arch=compute_${RONDO_PTX_DEVICE} ${RONDO_IMAGE_OPTIONS}
      -I${PROJECT_SOURCE_DIR} -I${PROJECT_SOURCE_DIR}/core/include -MD -MF ${ptx}.d -MT ${ptx}
      -o ${ptx} ${CMAKE_CURRENT_SOURCE_DIR}/${source}
    COMMAND sed -i "s/^\\.version .*/.version ${RONDO_PTX_VERSION}/" ${ptx}
    DEPENDS ${source} DEPFILE ${ptx}.d VERBATIM COMMENT "Compiling ${source} for devices")
endfunction()

# Machine code of PTX. What ptxas says of registers stays beside it, for the test of the code.
function(rondo_assemble sm ptx cubin)
  cmake_path(GET ptx STEM stem)
  get_property(ptxas GLOBAL PROPERTY RONDO_PTXAS_USED)
  add_custom_command(OUTPUT ${cubin} BYPRODUCTS ${cubin}.log
    COMMAND sh -c [[log=$0; "$@" >"$log" 2>&1 || { cat "$log"; exit 1; }]] ${cubin}.log
      ${ptxas} -v -O3 --fmad=false -arch=sm_${sm} -o ${cubin} ${ptx}
    DEPENDS ${ptx} ${ptxas} VERBATIM COMMENT "Assembling ${stem} for sm_${sm}")
endfunction()

# Sets the global properties RONDO_PTXAS_USED, and RONDO_MACHINE_CODE: the numbers among
# RONDO_CUDA_ARCHITECTURES for which that ptxas makes code. After find_package(CUDAToolkit).
function(rondo_choose_machine_code)
  set(numbers "")
  foreach(name ${RONDO_CUDA_ARCHITECTURES})
    if(name MATCHES "^(native|all|all-major)$")
      string(REPLACE - _ list ${name})
      string(TOUPPER ${list} list)
      list(APPEND numbers ${CMAKE_CUDA_ARCHITECTURES_${list}})
    elseif(NOT name MATCHES "-virtual$")
      list(APPEND numbers ${name})
    endif()
  endforeach()
  list(TRANSFORM numbers REPLACE "[^0-9].*$" "")   # "90a-real": the PTX uses nothing of 90a
  list(REMOVE_DUPLICATES numbers)
  list(SORT numbers COMPARE NATURAL)
  if(RONDO_SANITIZE)
    set(numbers "")
  endif()
  rondo_find_ptxas()
  rondo_only_possible(numbers)
  set_property(GLOBAL PROPERTY RONDO_PTXAS_USED ${ptxas})
  set_property(GLOBAL PROPERTY RONDO_MACHINE_CODE ${numbers})
endfunction()

# Drivers take machine code of their own major version of CUDA and of older ones: the ptxas of CUDA 12
# that tools/setup fetches serves more of them than the one of nvcc 13.
macro(rondo_find_ptxas)
  if(RONDO_PTXAS AND NOT EXISTS ${RONDO_PTXAS})
    unset(RONDO_PTXAS CACHE)
  endif()
  find_program(RONDO_PTXAS ptxas PATHS ${PROJECT_SOURCE_DIR}/build/cuda NO_DEFAULT_PATH
    DOC "ptxas of CUDA 12.8 or later: its code loads on drivers of CUDA 12. Else nvcc's own is used")
  find_program(RONDO_NVCC_PTXAS ptxas PATHS ${CUDAToolkit_BIN_DIR} NO_DEFAULT_PATH REQUIRED)
  mark_as_advanced(RONDO_NVCC_PTXAS)
  set(ptxas ${RONDO_NVCC_PTXAS})
  if(RONDO_PTXAS)
    set(ptxas ${RONDO_PTXAS})
  endif()
  execute_process(COMMAND ${ptxas} --version OUTPUT_VARIABLE ptxas_major)
  string(REGEX REPLACE ".*release ([0-9]+)\\..*" "\\1" ptxas_major "${ptxas_major}")
endmacro()

# Leaves out of the list what the ptxas does not know, and says what the images are.
function(rondo_only_possible list)
  set(possible "")
  set(empty ${CMAKE_CURRENT_BINARY_DIR}/empty.ptx)
  file(WRITE ${empty} ".version ${RONDO_PTX_VERSION}\n.target sm_${RONDO_PTX_DEVICE}\n")
  foreach(sm ${${list}})
    execute_process(COMMAND ${ptxas} -arch=sm_${sm} -o ${empty}.cubin ${empty}
      RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
    if(status EQUAL 0)
      list(APPEND possible ${sm})
    else()
      message(STATUS "CUDA: ${ptxas} makes no code for sm_${sm} from PTX for "
        "sm_${RONDO_PTX_DEVICE}: it is left out")
    endif()
  endforeach()
  if(possible)
    string(REPLACE ";" ", sm_" words "sm_${possible}")
    message(STATUS "CUDA: machine code for ${words} by ${ptxas}, for drivers of CUDA "
      "${ptxas_major} and later; PTX ${RONDO_PTX_VERSION} for all else")
  endif()
  if(possible AND ptxas_major GREATER 12)
    message(STATUS "CUDA: on older drivers the PTX is compiled when a program starts; `tools/setup "
      "build` fetches a ptxas of CUDA 12, whose code they take")
  endif()
  set(${list} ${possible} PARENT_SCOPE)
endfunction()
